//! The meaning of the errors of tower-mcp's client.
//!
//! Its transports report their own failures as text, and the HTTP transport as JSON-RPC errors that a
//! server could send as well. So they give a class, and never say that a call did not run.

use crate::{
    classify::{Session, name_rpc, retry_after},
    failure::{Failure, RpcError, class_of_status},
};
use ::tower_mcp::{Error, JsonRpcError};
use serde_json::Value;

/// The code under which the HTTP transport reports what it met itself.
const OF_TRANSPORT: i32 = -32000;

/// How it begins: a request that failed, and a status.
const FAILED: &str = "HTTP request failed: ";
const TIMEOUT: &str = "HTTP request failed: timeout";
const STATUS: &str = "server returned HTTP ";

/// How its client begins, where it could not read an answer.
const UNREADABLE: &str = "Failed to deserialize response: ";

/// The failure of a request. If the transport never got it, it did not run.
pub(super) fn of_request(error: Error, is_sent: bool) -> Failure {
    let failure = name(error);
    if is_sent {
        return failure;
    }
    match failure.rpc_error() {
        // An answer to it.
        Some(_) => failure,
        None => failure.not_sent(),
    }
}

fn name(error: Error) -> Failure {
    match error {
        Error::JsonRpc(error) => of_json_rpc(error),
        Error::SessionExpired => {
            Failure::session_lost("the tool server no longer knows the session")
        }
        Error::Serialization(error) => unreadable(error.to_string()),
        Error::Transport(text) => match text.strip_prefix(UNREADABLE) {
            Some(problem) => unreadable(problem.to_owned()),
            None => Failure::connection("the connection to the tool server failed").because(text),
        },
        other => Failure::connection("the connection to the tool server failed")
            .because(other.to_string()),
    }
}

pub(super) fn unreadable(problem: String) -> Failure {
    Failure::invalid_output("the answer of the tool server cannot be read").because(problem)
}

fn of_json_rpc(error: JsonRpcError) -> Failure {
    if error.code == OF_TRANSPORT {
        if error.message == TIMEOUT {
            return Failure::timeout("the tool server did not answer in time")
                .because(error.message);
        }
        if error.message.starts_with(FAILED) {
            return Failure::connection("the connection to the tool server failed")
                .because(error.message);
        }
        if let Some(failure) = of_status(&error) {
            return failure;
        }
    }
    let error = RpcError::new(error.code, error.message, error.data);
    name_rpc(error, Session::None)
}

/// A status that the transport met, and `Retry-After` beside it.
fn of_status(error: &JsonRpcError) -> Option<Failure> {
    if !error.message.starts_with(STATUS) {
        return None;
    }
    let data = error.data.as_ref()?;
    let status = data.get("httpStatus")?.as_u64()?;
    let status = u16::try_from(status).ok()?;
    let class = class_of_status(status)?;
    let wait = data.get("retryAfter").and_then(Value::as_str);
    let wait = wait.and_then(|wait| retry_after::in_headers([wait]));
    Some(
        Failure::new(class, error.message.clone())
            .with_status(status)
            .with_retry_after(wait),
    )
}
