//! Errors for the host, for results without a flag.

use super::{target::Target, text};
use crate::{
    call::Method,
    failure::{Class, Failure, MESSAGE_LIMIT, RpcError},
};
use serde_json::{Map, Value};

/// The JSON-RPC error for a failure without one.
pub(super) fn error(failure: &Failure, target: &Target) -> RpcError {
    let code = match failure.class() {
        Class::NotFound | Class::InvalidInput => RpcError::INVALID_PARAMS,
        _ => RpcError::INTERNAL_ERROR,
    };
    let is_deliberate = failure.message().is_some() && failure.class() != Class::Crash;
    let message = match (target.method(), is_deliberate) {
        (_, true) => text::message(failure),
        (Method::CallTool, false) => match failure.class() {
            Class::Crash => text::headline(target),
            _ => text::message(failure),
        },
        (Method::ReadResource, false) => format!("Error reading resource {}", target.name()),
        (Method::GetPrompt, false) => format!("Error getting prompt {}", target.name()),
    };
    RpcError::new(code, message, data(failure, target))
}

/// The missing resource, and how long to wait. A crash says nothing.
fn data(failure: &Failure, target: &Target) -> Option<Value> {
    let mut data = Map::new();
    if target.method() != Method::CallTool && failure.class() == Class::NotFound {
        let name = target.name_within(MESSAGE_LIMIT);
        data.insert(target.method().subject().to_owned(), name.into());
    }
    if let Some(wait) = failure.retry_after() {
        data.insert("retryAfter".to_owned(), text::whole_seconds(wait).into());
    }
    (!data.is_empty()).then_some(Value::Object(data))
}
