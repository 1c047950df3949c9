//! What rmcp reports, and what it means.

use crate::{
    classify::ClassifyLayer,
    failure::{Failure, RpcError},
};
use ::rmcp::{
    ErrorData,
    service::{ClientInitializeError, ServiceError},
    transport::DynamicTransportError,
};

/// The text under which rmcp hides that an answer was lost with its session.
const REINITIALIZED: &str =
    "streamable HTTP session was re-initialized before the response arrived";

/// Names what became of a call.
pub(super) fn of_call(error: ServiceError) -> Failure {
    let failure = match &error {
        ServiceError::McpError(data) if data.code.0 == -32603 && data.message == REINITIALIZED => {
            lost()
        }
        ServiceError::McpError(data) => return of_rpc(data),
        ServiceError::TransportClosed => lost(),
        ServiceError::UnexpectedResponse => {
            Failure::invalid_output("the server's answer is of another kind than the request")
        }
        ServiceError::Timeout { .. } => Failure::timeout(""),
        ServiceError::Cancelled { .. } => Failure::cancelled(""),
        _ => {
            return match error {
                ServiceError::TransportSend(sent) => of_transport(sent),
                error => Failure::crash(error),
            };
        }
    };
    failure.because(error)
}

/// Names why a connection could not be made.
pub(super) fn of_start(error: ClientInitializeError) -> Failure {
    use ClientInitializeError as E;
    match error {
        E::TransportError { error: sent, .. } => of_transport(sent),
        E::JsonRpcError(data) => of_rpc(&data),
        E::LegacyFallbackFailed { fallback, .. } => of_start(*fallback),
        E::ConnectionClosed(_) => {
            Failure::connection("the tool server closed the connection before it was ready")
                .because(error)
        }
        E::Cancelled => Failure::cancelled("").because(error),
        _ => Failure::disabled("the server does not speak a version of MCP that is known here")
            .because(error),
    }
}

fn lost() -> Failure {
    Failure::connection("the connection to the tool server was lost")
}

fn of_rpc(data: &ErrorData) -> Failure {
    let error = RpcError::new(data.code.0, data.message.clone(), data.data.clone());
    ClassifyLayer::new().name(error)
}

/// Whatever a transport says: what was sent may have arrived.
fn of_transport(sent: DynamicTransportError) -> Failure {
    let error = sent.error;
    #[cfg(feature = "rmcp-client-http")]
    let error = match super::http::failure(error) {
        Ok(failure) => return failure,
        Err(error) => error,
    };
    lost().because(error)
}
