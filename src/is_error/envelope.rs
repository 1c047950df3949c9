//! The envelope, for programs.

use super::{target::Target, text};
use crate::failure::{Class, Code, Failure, META_KEY, Stopped};
use serde_json::{Map, Value, json};

pub(super) fn of(failure: &Failure, target: &Target) -> Value {
    let mut envelope = Map::new();
    let code = match failure.code() {
        Some(Code::Text(text)) => json!(text),
        Some(Code::Number(number)) => json!(number),
        None => json!(failure.class().default_code()),
    };
    envelope.insert("code".to_owned(), code);
    let error = match failure.class() {
        Class::Crash => text::headline(target),
        _ => text::message(failure),
    };
    envelope.insert("error".to_owned(), error.into());
    if let Some(status) = failure.status() {
        envelope.insert("status".to_owned(), status.into());
    }
    if let Some(wait) = failure.retry_after() {
        envelope.insert("retryAfter".to_owned(), text::whole_seconds(wait).into());
    }
    envelope.insert("retryable".to_owned(), is_retryable(failure, target).into());
    envelope.insert("attempts".to_owned(), failure.attempts().into());
    Value::Object(envelope)
}

pub(super) fn as_meta(envelope: Value) -> Map<String, Value> {
    Map::from_iter([(META_KEY.to_owned(), envelope)])
}

/// Whether it is sensible and safe to call it again later, unchanged.
fn is_retryable(failure: &Failure, target: &Target) -> bool {
    if failure.stopped() == Some(Stopped::MayHaveRun) {
        return false;
    }
    let is_harmless = failure.delivery().did_not_run() || target.hints().may_repeat();
    failure
        .retryable()
        .unwrap_or(failure.class().heals() && is_harmless)
}
