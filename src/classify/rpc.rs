//! JSON-RPC errors.

use super::{envelope::Envelope, texts};
use crate::failure::{Class, Delivery, Failure, RpcError};

/// Names a JSON-RPC error by its `data`, its code and, for two kinds, its text. It stays in the
/// failure as it is.
pub(super) fn classify(error: RpcError) -> Failure {
    let envelope = error.data.as_ref().map(Envelope::read).unwrap_or_default();
    let (class, delivery) = match envelope.class() {
        Some(named) => named,
        None => by_code(&error, &envelope),
    };
    // The error's own message, and not one of its data.
    envelope
        .into_failure(class)
        .with_delivery(delivery)
        .with_message(error.message.clone())
        .with_rpc_error(error)
}

fn by_code(error: &RpcError, envelope: &Envelope) -> (Class, Delivery) {
    match error.code {
        // -32600: an SDK's client and server; -32001: another SDK's server.
        -32600 | -32001 if texts::is_session_loss(&error.message) => {
            (Class::SessionLost, Delivery::Refused)
        }
        // Rejected before anything ran, by JSON-RPC.
        -32602 if texts::is_unknown_tool(&error.message) => (Class::NotFound, Delivery::Refused),
        -32602 => (Class::InvalidInput, Delivery::Refused),
        -32700 | -32601 | -32600 => (Class::Protocol, Delivery::Refused),
        // A missing resource, until MCP 2025-11-25.
        -32002 => (Class::NotFound, Delivery::Unknown),
        // A proposal, and what servers use meanwhile. Both numbers mean other things too.
        -32023 | -32029 if envelope.retry_after().is_some() => {
            (Class::RateLimited, Delivery::Refused)
        }
        -32800 => (Class::Cancelled, Delivery::Unknown),
        // The server says that a repeat is fine, and not what was wrong.
        _ if envelope.retryable() == Some(true) => (Class::Upstream, Delivery::Unknown),
        _ => (Class::Protocol, Delivery::Unknown),
    }
}
