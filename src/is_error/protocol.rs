//! What the host reads, where there is no flag.

use super::{escape::escaped, text};
use crate::{
    call::{Method, Target},
    failure::{Class, Failure, RpcError},
};
use serde_json::{Map, Value};

const NAME_LIMIT: usize = 2 * 1024;

/// The JSON-RPC error for a failure that has none of its own.
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
        (Method::ReadResource, false) => format!("Error reading resource {}", name(target)),
        (Method::GetPrompt, false) => format!("Error getting prompt {}", name(target)),
    };
    RpcError::new(code, message, data(failure, target))
}

/// Which resource is missing, and how long to wait; a crash says nothing.
fn data(failure: &Failure, target: &Target) -> Option<Value> {
    let mut data = Map::new();
    if target.method() != Method::CallTool && failure.class() == Class::NotFound {
        data.insert(target.method().subject().to_owned(), name(target).into());
    }
    if let Some(wait) = failure.retry_after() {
        data.insert("retryAfter".to_owned(), text::whole_seconds(wait).into());
    }
    (!data.is_empty()).then_some(Value::Object(data))
}

fn name(target: &Target) -> String {
    escaped(target.name(), NAME_LIMIT)
}
