//! Whether an object describes a failure and nothing else.
//!
//! `{"sent": 2, "error": {"code": "rate_limited"}}` reports two mails that were sent, and a third
//! that was refused. So a code means that the call itself was refused only if all other members
//! describe a failure.

use super::{
    built_in as known,
    lookup::{Lookup, is_one_of},
};
use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// How deep objects are followed.
const DEPTH: usize = 4;

/// Members that describe a failure with any value.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    // Names for what happened.
    "message", "msg", "detail", "description", "title", "type", "kind", "instance", "reason", "code",
    "errcode", "statustext", "statusmessage", "category", "class", "severity", "level", "causechain",
    "issues", "field", "fields", "param", "parameter", "argument",
    // Where, and which call it was.
    "service", "server", "tool", "toolname", "method", "path", "endpoint", "scope", "plan",
    "requestid", "traceid", "spanid", "correlationid", "errorid", "timestamp", "time", "date", "jsonrpc",
    // Whether and when to come again.
    "retryable", "isretryable", "retriable", "isretriable", "canretry", "shouldretry", "retry",
    "transient", "istransient", "temporary", "istemporary", "recovery", "recoverysuggestion", "headers",
    "attempt", "attempts", "maxattempts", "retries", "maxretries", "iserror",
    // Which limit was reached.
    "limit", "limits", "limitkey", "current", "remaining", "reset", "quota", "window", "usage", "used",
    "max", "ratelimit", "ratecurrent", "concurrency", "rpm", "policy",
    // Names for what to do.
    "hint", "hints", "guidance", "suggestion", "suggestions", "help", "helpurl", "nextstep",
    "nextactions", "docs", "docsurl", "documentation", "documentationurl", "moreinfo", "upgradeurl",
];

/// Objects with the error of this call, as protocols name it.
const OF_THE_CALL: &[&str] = &[
    "error",
    "adcperror",
    "jsonrpcerror",
    "mcperror",
    "rpcerror",
    "toolerror",
];

/// Members that describe a failure if they are false.
const SUCCESS: &[&str] = &["ok", "success", "succeeded", "successful"];

/// Words of a status that tell of a failure. A status such as `partial` tells of something that was
/// done.
#[rustfmt::skip]
const FAILED: &[&str] = &[
    "error", "fail", "failed", "failure", "rejected", "refused", "denied", "declined", "blocked",
    "throttled", "busy", "overloaded", "toomanyrequests", "serviceunavailable",
];

/// Lists of what is wrong.
const LISTS: &[&str] = &["details", "errors"];

/// Whether every member describes the failure.
pub(super) fn tells_only_of_a_failure(object: &Object, lookup: Lookup<'_>) -> bool {
    is_told(object, lookup, DEPTH)
}

fn is_told(object: &Object, lookup: Lookup<'_>, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    object.iter().all(|(key, value)| {
        if is_one_of(known::STATUS, key) {
            return is_failed(value, lookup);
        }
        if says_nothing(value) || is_one_of(NAMES, key) || is_own(key, lookup) {
            return true;
        }
        if let Value::Object(inner) = value
            && inner.keys().all(|key| lookup.unit(key).is_some())
        {
            // A namespace with a wait and nothing else.
            return true;
        }
        if is_one_of(SUCCESS, key) {
            return *value == Value::Bool(false);
        }
        if key == "id" {
            return object.contains_key("jsonrpc");
        }
        let is_inner = is_of_the_call(key)
            || known::PARTS.contains(&key.as_str())
            || known::PART_LISTS.contains(&key.as_str())
            || lookup.envelopes().any(|name| name == key);
        is_inner
            && match value {
                Value::Object(inner) => is_told(inner, lookup, depth),
                Value::Array(items) => {
                    is_one_of(LISTS, key)
                        && items.iter().all(|item| is_problem(item, lookup, depth))
                }
                _ => true,
            }
    })
}

/// Whether a status is that of a failure: a number that is no success of HTTP, a word, or a line such
/// as `503 Service Unavailable`. Any other number before words may count what was done.
fn is_failed(status: &Value, lookup: Lookup<'_>) -> bool {
    let is_number = |number: f64| number.is_finite() && !(100.0..400.0).contains(&number);
    match status {
        Value::Number(number) => number.as_f64().is_some_and(is_number),
        Value::String(text) => match text.trim().parse() {
            Ok(number) => is_number(number),
            Err(_) => {
                text.is_empty()
                    || lookup.word(text).is_some()
                    || is_one_of(FAILED, text)
                    || is_status_line(text, lookup)
            }
        },
        other => says_nothing(other),
    }
}

/// `503 Service Unavailable`, and not `500 of 600 sent` or `500 Mails Sent`.
fn is_status_line(text: &str, lookup: Lookup<'_>) -> bool {
    text.split_once(' ').is_some_and(|(code, reason)| {
        let code = code.parse();
        let is_failure = code.is_ok_and(|code: u16| (400..600).contains(&code));
        is_failure && (lookup.word(reason).is_some() || is_one_of(FAILED, reason))
    })
}

/// Whether an item says what is wrong. In a batch it may say what was done.
fn is_problem(item: &Value, lookup: Lookup<'_>, depth: usize) -> bool {
    match item {
        // The form of Google's services, of any type.
        Value::Object(item) => item.contains_key("@type") || is_told(item, lookup, depth),
        _ => true,
    }
}

/// A field of a code or of a wait, also one that the user has named.
fn is_own(key: &str, lookup: Lookup<'_>) -> bool {
    lookup.is_code_field(key)
        || lookup.unit(key).is_some()
        || known::FINAL
            .iter()
            .any(|(field, _)| is_one_of(&[*field], key))
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether it names the error of this call. An `upstream_error` is about a call that the tool made,
/// and a `mail_error` may be about the last thing that it did.
fn is_of_the_call(key: &str) -> bool {
    is_one_of(OF_THE_CALL, key)
}

/// Whether it is a protocol's name for an error, as `adcp_error` is.
pub(super) fn names_an_error(key: &str) -> bool {
    let end = key.len().checked_sub(known::ERROR.len());
    end.and_then(|end| key.get(end..))
        .is_some_and(|end| end.eq_ignore_ascii_case(known::ERROR))
}
