//! The meaning of rmcp's errors.

use super::wire::{NotWritten, Unreadable};
use crate::{
    classify::{Session, name_rpc},
    failure::{Class, Failure, RpcError},
};
use ::rmcp::{
    ErrorData,
    service::{ClientInitializeError, ServiceError},
};
use std::{error::Error, io};

/// The text with which rmcp's own HTTP client hides that an answer was lost with its session.
const REINITIALIZED: &str =
    "streamable HTTP session was re-initialized before the response arrived";

/// Classifies an error of rmcp's own client, as a [rule](crate::classify::ClassifyLayer::rule), if
/// you have such a client already.
///
/// ```
/// use mcp_resilience::{classify::ClassifyLayer, rmcp::client};
/// use rmcp::service::ServiceError;
///
/// let classify = ClassifyLayer::new().rule(|error: &ServiceError| Some(client::classify_call(error)));
/// # let _ = classify;
/// ```
///
/// A lost connection may have been lost before the call was sent. The error does not show that, so
/// the delivery is unknown. Errors of the transport are known for stdio, and with the feature
/// `rmcp-client-http` for rmcp's own client over reqwest. Turn its `reinit_on_expired_session` off:
/// it sends a call again that may have run.
///
/// The claims of the failure hold if a rule makes it. If a tool passes it on, they do not count for
/// the tool's own call.
///
/// An error "session not found" is a `SessionLost` of unknown delivery: the error does not show
/// whether your connection has a session.
#[must_use]
pub fn classify_call(error: &ServiceError) -> Failure {
    // In a rule it is the claim of the user. Passed on by a tool, it is about another call.
    name_call(error, Session::Untold).spent()
}

fn name_call(error: &ServiceError, session: Session) -> Failure {
    match error {
        ServiceError::McpError(data) if data.code.0 == -32603 && data.message == REINITIALIZED => {
            lost()
        }
        ServiceError::McpError(data) if Unreadable::in_error(data).is_some() => {
            Unreadable::failure()
        }
        ServiceError::McpError(data) => of_rpc(data, session),
        ServiceError::TransportSend(sent) if sent.error.is::<NotWritten>() => lost().not_sent(),
        ServiceError::TransportSend(sent) => of_transport(&*sent.error),
        ServiceError::TransportClosed => lost(),
        ServiceError::UnexpectedResponse => Unreadable::failure(),
        ServiceError::Timeout { .. } => Failure::timeout(""),
        ServiceError::Cancelled { .. } => Failure::cancelled(""),
        _ => Failure::new(Class::Crash, ""),
    }
}

/// Classifies why rmcp could not connect.
#[must_use]
pub fn classify_start(error: &ClientInitializeError) -> Failure {
    name_start(error).spent()
}

fn name_start(error: &ClientInitializeError) -> Failure {
    use ClientInitializeError as E;
    match error {
        E::TransportError { error: sent, .. }
            if sent.error.is::<io::Error>() || sent.error.is::<NotWritten>() =>
        {
            closed()
        }
        E::TransportError { error: sent, .. } => of_transport(&*sent.error),
        E::JsonRpcError(data) if Unreadable::in_error(data).is_some() => {
            Failure::connection("the tool server's answer to the handshake cannot be read")
        }
        E::JsonRpcError(data) => of_rpc(data, Session::None),
        E::LegacyFallbackFailed { fallback, .. } => name_start(fallback),
        E::ConnectionClosed(_) => closed(),
        E::Cancelled => Failure::cancelled(""),
        _ => Failure::disabled("the server does not speak a version of MCP that is known here"),
    }
}

/// The same, with the transport's own error as the source.
pub(super) fn of_call(error: ServiceError, session: Session) -> Failure {
    let failure = name_call(&error, session);
    match error {
        ServiceError::TransportSend(sent) => failure.because(cause(sent.error)),
        // The failure keeps it as it is.
        ServiceError::McpError(_) if failure.rpc_error().is_some() => failure,
        ServiceError::McpError(data) => with_unreadable(failure, &data),
        error => failure.because(error),
    }
}

pub(super) fn of_start(error: ClientInitializeError) -> Failure {
    let failure = name_start(&error);
    match error {
        ClientInitializeError::TransportError { error: sent, .. } => {
            failure.because(cause(sent.error))
        }
        ClientInitializeError::JsonRpcError(data) => with_unreadable(failure, &data),
        error => failure.because(error),
    }
}

fn closed() -> Failure {
    Failure::connection("the tool server closed the connection before it was ready")
}

fn lost() -> Failure {
    Failure::connection("the connection to the tool server was lost")
}

/// Adds why the answer cannot be read.
fn with_unreadable(failure: Failure, data: &ErrorData) -> Failure {
    match Unreadable::in_error(data) {
        Some(unreadable) => failure.because(unreadable),
        None => failure,
    }
}

fn of_rpc(data: &ErrorData, session: Session) -> Failure {
    let error = RpcError::new(data.code.0, data.message.clone(), data.data.clone());
    name_rpc(error, session)
}

/// The request may have arrived, for every error of the transport.
#[cfg(feature = "rmcp-client-http")]
fn of_transport(error: &(dyn Error + 'static)) -> Failure {
    super::endpoint::classify(error).unwrap_or_else(lost)
}

/// Without the wrappers that hide the cause.
fn cause(error: Box<dyn Error + Send + Sync>) -> Box<dyn Error + Send + Sync> {
    #[cfg(feature = "rmcp-client-http")]
    let error = super::endpoint::cause(error);
    error
}

#[cfg(not(feature = "rmcp-client-http"))]
fn of_transport(_: &(dyn Error + 'static)) -> Failure {
    lost()
}

/// The failure of a request that took longer than a setting allows.
pub(super) fn too_late(text: &str, setting: &str) -> Failure {
    Failure::timeout(format!("{text}; to allow more, raise `{setting}`"))
}
