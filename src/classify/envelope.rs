//! The envelope: an object in which a server says what went wrong.

use super::{
    places::{is_one_of, places},
    retry_after, status,
};
use crate::failure::{Class, Code, Failure, first};
use serde_json::{Map, Value};
use std::time::Duration;

type Object = Map<String, Value>;

const CODE: &[&str] = &["code", "errorcode", "errortype"];
// Also the kind of anything else, so that it counts only with a word that is known.
const TYPE: &[&str] = &["type"];
const MESSAGE: &[&str] = &["message", "error", "detail"];
const STATUS: &[&str] = &["status", "statuscode", "httpstatus"];
const RETRYABLE: &[&str] = &["retryable", "isretryable"];

/// Longer messages are cut.
const MESSAGE_LIMIT: usize = 4 * 1024;

/// What an envelope says. Each part is the first found, outermost first; the wait is the longest.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    class: Option<Class>,
    code: Option<Code>,
    message: Option<String>,
    status: Option<u16>,
    retryable: Option<bool>,
    retry_after: Option<Duration>,
}

impl Envelope {
    /// Reads any JSON value; one that is no envelope says nothing.
    pub(super) fn read(value: &Value) -> Self {
        let mut envelope = Self::default();
        if let Value::Object(object) = value {
            for place in places(object) {
                envelope.read_place(place);
            }
            envelope.find_class(object);
        }
        envelope
    }

    pub(super) fn class(&self) -> Option<Class> {
        self.class
    }

    pub(super) fn retryable(&self) -> Option<bool> {
        self.retryable
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    pub(super) fn says_something(&self) -> bool {
        self.code.is_some()
            || self.status.is_some()
            || self.retryable.is_some()
            || self.retry_after.is_some()
    }

    /// Takes from `_meta` the wait, and whether a repeat is fine, and nothing else.
    pub(super) fn add_hints_of(&mut self, meta: &Object) {
        for place in places(meta) {
            self.read_hints(place);
        }
    }

    /// The same from another envelope.
    pub(super) fn add_hints(&mut self, other: &Self) {
        self.retry_after = self.retry_after.max(other.retry_after);
        if let Some(retryable) = other.retryable {
            self.say_retryable(retryable);
        }
    }

    /// Whoever says no is heard.
    fn say_retryable(&mut self, retryable: bool) {
        self.retryable = Some(retryable && self.retryable.unwrap_or(true));
    }

    /// A failure of this class with all that the envelope says.
    pub(super) fn into_failure(self, class: Class) -> Failure {
        // The one code that lets a tool run again that ran, by the word of who documented it.
        let is_documented = class == Class::Upstream && self.class_of_code() == Some(class);
        let retryable = self.retryable.or(is_documented.then_some(true));
        let mut failure = Failure::new(class, self.message.unwrap_or_default())
            .with_retry_after(self.retry_after)
            .with_retryable(retryable);
        if let Some(code) = self.code {
            failure = failure.with_code(code);
        }
        if let Some(status) = self.status {
            failure = failure.with_status(status);
        }
        failure
    }

    fn read_place(&mut self, place: &Object) {
        self.read_hints(place);
        for (key, value) in place {
            let is_known = || {
                value
                    .as_str()
                    .is_some_and(|text| Class::from_code(text).is_some())
            };
            if is_one_of(CODE, key) || (is_one_of(TYPE, key) && is_known()) {
                self.read_code(value);
            }
            if self.message.is_none() && is_one_of(MESSAGE, key) {
                self.message = value
                    .as_str()
                    .filter(|text| !text.trim().is_empty())
                    .map(cut);
            }
            if self.status.is_none() && is_one_of(STATUS, key) {
                self.status = http_status(value);
            }
        }
    }

    fn read_hints(&mut self, place: &Object) {
        for (key, value) in place {
            if is_one_of(RETRYABLE, key)
                && let Some(retryable) = value.as_bool()
            {
                self.say_retryable(retryable);
            }
            self.retry_after = self.retry_after.max(retry_after::member(key, value));
        }
    }

    fn read_code(&mut self, value: &Value) {
        let code = match value {
            Value::String(text) if !text.trim().is_empty() => Code::from(cut(text)),
            Value::Number(number) => match number.as_i64() {
                Some(number) => Code::from(number),
                None => return,
            },
            _ => return,
        };
        // A code that is known, further in, says more than one that is not.
        let is_known = class_of(&code).is_some();
        if self.code.is_none() || (is_known && self.class_of_code().is_none()) {
            self.code = Some(code);
        }
    }

    fn class_of_code(&self) -> Option<Class> {
        self.code.as_ref().and_then(class_of)
    }

    fn find_class(&mut self, object: &Object) {
        let tells_limits = || {
            places(object).any(|place| {
                let has = |key| place.get(key).is_some_and(Value::is_object);
                has("current") && has("limits")
            })
        };
        self.class = match self.class_of_code() {
            Some(class) => Some(class),
            None if self.status == Some(503) && tells_limits() => Some(Class::AtCapacity),
            None => self.status.and_then(status::class),
        };
    }
}

fn class_of(code: &Code) -> Option<Class> {
    match code {
        Code::Text(text) => Class::from_code(text),
        Code::Number(_) => None,
    }
}

fn http_status(value: &Value) -> Option<u16> {
    let number = match value {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    u16::try_from(number)
        .ok()
        .filter(|status| (100..600).contains(status))
}

fn cut(text: &str) -> String {
    first(text, MESSAGE_LIMIT).to_owned()
}
