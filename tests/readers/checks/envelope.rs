//! The details of a failure in a flagged result or a JSON-RPC error.

use super::{Answer, at_once, json, pieces};
use mcp_resilience::{
    Class, Failure,
    classify::{ClassifyLayer, retry_after::in_json},
    failure::{Code, RpcError},
};
use serde_json::{Map, Value};
use std::time::Duration;
use tower::{BoxError, Layer, Service, service_fn};

/// A longer text is not read as JSON.
const SCAN_LIMIT: usize = 16 * 1024;

/// The most bytes of a text that become a message or a code.
const MESSAGE_LIMIT: usize = 4 * 1024;

/// The details of a failure, in every place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) structured: Option<Value>,
    pub(crate) texts: Vec<String>,
    pub(crate) meta: Option<Map<String, Value>>,
}

/// The failure that `classify` makes of it.
pub(crate) fn classify(outcome: Result<Answer, BoxError>) -> Result<Answer, Failure> {
    let mut outcome = Some(outcome);
    let tool = service_fn(move |()| {
        let outcome = outcome.take().expect("one call");
        async { outcome }
    });
    let mut service = ClassifyLayer::new().layer(tool);
    at_once(service.call(()))
}

impl Parts {
    /// From bytes: the structured content, `_meta`, and the texts.
    pub(crate) fn of_bytes(data: &[u8]) -> Self {
        let mut pieces = pieces(data);
        let structured = pieces.next().filter(|text| !text.is_empty());
        let meta = pieces.next().map(|text| json(&text));
        Self {
            structured: structured.map(|text| json(&text)),
            meta: meta.and_then(|meta| meta.as_object().cloned()),
            texts: pieces.take(8).collect(),
        }
    }

    fn answer(&self, is_error: bool) -> Answer {
        Answer {
            texts: self.texts.clone(),
            structured: self.structured.clone(),
            meta: self.meta.clone(),
            is_error,
            is_interim: false,
        }
    }

    /// All parts that are read as JSON.
    fn values(&self) -> Vec<Value> {
        let texts = self.texts.iter().filter(|text| text.len() <= SCAN_LIMIT);
        let in_texts = texts.filter_map(|text| serde_json::from_str(text).ok());
        let meta = self.meta.clone().map(Value::Object);
        let own = self.structured.clone().into_iter().chain(meta);
        own.chain(in_texts.filter(Value::is_object)).collect()
    }

    pub(crate) fn check(&self) {
        let unflagged = self.answer(false);
        let passed = classify(Ok(unflagged.clone())).expect("no failure");
        assert_eq!(passed, unflagged, "without a flag it passes");

        let values = self.values();
        let longest = values.iter().filter_map(longest_anywhere).max();
        let flagged = self.answer(true);
        let mut failure = classify(Ok(flagged.clone())).expect_err("a failure");
        // A reader that panicked would have lost it.
        let kept = failure.take_result::<Answer>();
        assert_eq!(kept, Some(flagged), "what the tool said is kept");
        assert!(failure.retry_after() <= longest, "{failure:?}, {longest:?}");
        assert_heard(&failure, &values);
        assert_bounded(&failure);
        self.check_hints(&failure);
    }

    /// A wait makes nothing repeatable, and changes nothing else.
    fn check_hints(&self, failure: &Failure) {
        let places = usize::from(self.structured.is_some()) + self.texts.len();
        if places > 1 {
            return;
        }
        let texts = self.texts.iter().map(|text| {
            let is_read = text.len() <= SCAN_LIMIT && text.trim_start().starts_with('{');
            let value = is_read.then(|| serde_json::from_str(text).ok()).flatten();
            value.map_or_else(|| text.clone(), |value| without_hints(value).to_string())
        });
        let bare = Self {
            structured: self.structured.clone().map(without_hints),
            texts: texts.collect(),
            meta: None,
        };
        let with_meta = Self {
            meta: None,
            ..self.clone()
        };
        let said = classify(Ok(with_meta.answer(true))).expect_err("a failure");
        let unhinted = classify(Ok(bare.answer(true))).expect_err("a failure");
        assert_eq!(said.class(), unhinted.class(), "{self:?}");
        assert_eq!(said.delivery(), unhinted.delivery(), "{self:?}");
        assert_eq!(said.retryable(), unhinted.retryable(), "{self:?}");
        assert_eq!(unhinted.retry_after(), None, "{bare:?}");
        assert!(failure.retry_after() >= said.retry_after().map(less_a_moment));
    }

    /// The same as the `data` of a JSON-RPC error.
    pub(crate) fn check_as_rpc_error(&self, code: i32, message: &str) {
        let said = RpcError::new(code, message, self.structured.clone());
        let failure = classify(Err(said.clone().into())).expect_err("a failure");
        assert_eq!(failure.rpc_error(), Some(&said), "code, message and data");
        let values: Vec<_> = self.structured.iter().cloned().collect();
        assert_heard(&failure, &values);
        if message.trim().is_empty() {
            assert_eq!(failure.message(), None);
        }
    }
}

/// The longest wait is kept, and every "no" counts.
fn assert_heard(failure: &Failure, values: &[Value]) {
    for value in values {
        // Read later than the failure: one that is a date is shorter by now.
        let hint = in_json(value);
        assert!(failure.retry_after() >= hint, "{failure:?}, {hint:?}");
        if says_no(value) {
            assert_eq!(failure.retryable(), Some(false), "{value}");
        }
    }
    let is_said = values.iter().any(says_yes_somewhere);
    let is_documented = failure.class() == Class::Upstream;
    if !is_said && !is_documented {
        assert_ne!(failure.retryable(), Some(true), "{values:?}");
    }
}

fn assert_bounded(failure: &Failure) {
    let message = failure.message().unwrap_or_default();
    assert!(message.len() <= MESSAGE_LIMIT, "{} bytes", message.len());
    if let Some(Code::Text(code)) = failure.code() {
        assert!(code.len() <= MESSAGE_LIMIT, "{} bytes", code.len());
    }
}

fn less_a_moment(wait: Duration) -> Duration {
    wait.saturating_sub(Duration::from_secs(5))
}

fn is_retryable(key: &str) -> bool {
    let letters = key.replace(['_', '-'], "").to_ascii_lowercase();
    key.len() <= 64 && ["retryable", "isretryable"].contains(&letters.as_str())
}

/// At the top, or one level down.
fn says_no(value: &Value) -> bool {
    let here = |object: &Map<String, Value>| {
        let mut members = object.iter();
        members.any(|(key, value)| is_retryable(key) && *value == Value::Bool(false))
    };
    value.as_object().is_some_and(|object| {
        here(object) || object.values().filter_map(Value::as_object).any(here)
    })
}

fn says_yes_somewhere(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.iter().any(|(key, value)| {
            (is_retryable(key) && *value == Value::Bool(true)) || says_yes_somewhere(value)
        }),
        Value::Array(items) => items.iter().any(says_yes_somewhere),
        _ => false,
    }
}

fn longest_anywhere(value: &Value) -> Option<Duration> {
    let inner = match value {
        Value::Object(object) => object.values().filter_map(longest_anywhere).max(),
        Value::Array(items) => items.iter().filter_map(longest_anywhere).max(),
        _ => None,
    };
    in_json(value).max(inner)
}

/// Whether a key is a name for a wait, by whether one is read under it.
fn is_hint(key: &str) -> bool {
    let reads = |value: Value| {
        let object = Map::from_iter([(key.to_owned(), value)]);
        in_json(&Value::Object(object)).is_some()
    };
    reads(1.into()) || reads("9999-01-01T00:00:00Z".into())
}

/// The same without these names. They stay: whether an object is alone counts.
fn without_hints(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let members = object.into_iter().map(|(key, value)| {
                let is_object = value.is_object();
                let value = if is_hint(&key) && !is_object {
                    Value::Null
                } else {
                    without_hints(value)
                };
                (key, value)
            });
            members.collect()
        }
        Value::Array(items) => items.into_iter().map(without_hints).collect(),
        other => other,
    }
}
