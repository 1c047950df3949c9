//! The envelope: an object in which a server says what went wrong.

use super::{
    places::{is_one_of, of_hints, of_the_call},
    retry_after, status,
};
use crate::failure::{Class, Code, Delivery, Failure, MESSAGE_LIMIT, first};
use serde_json::{Map, Value};
use std::time::Duration;

type Object = Map<String, Value>;

const CODE: &[&str] = &["code", "errorcode", "errortype"];
// Also the kind of anything else, so that it counts only with a word that is known.
const TYPE: &[&str] = &["type"];
const MESSAGE: &[&str] = &["message", "error", "detail"];
const STATUS: &[&str] = &["status", "statuscode", "httpstatus"];
const RETRYABLE: &[&str] = &["retryable", "isretryable"];

/// What an envelope says. Each part is the first found, outermost first; the wait is the longest.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    class: Option<Class>,
    delivery: Option<Delivery>,
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
            for place in of_the_call(object) {
                envelope.read_place(place);
            }
            envelope.add_hints_of(object);
            envelope.class = envelope.class.or_else(|| envelope.class_of_status(object));
        }
        envelope
    }

    /// The class that it names, and how far the call got by that.
    pub(super) fn class(&self) -> Option<(Class, Delivery)> {
        let class = self.class?;
        Some((class, self.delivery.unwrap_or(class.delivery())))
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

    /// Takes from an object the wait, and whether a repeat is fine, and nothing else.
    pub(super) fn add_hints_of(&mut self, object: &Object) {
        for place in of_hints(object) {
            for (key, value) in place {
                if is_one_of(RETRYABLE, key)
                    && let Some(retryable) = value.as_bool()
                {
                    self.say_retryable(retryable);
                }
                self.retry_after = self.retry_after.max(retry_after::member(key, value));
            }
        }
    }

    /// The same from another envelope.
    pub(super) fn add_hints(&mut self, other: &Self) {
        self.retry_after = self.retry_after.max(other.retry_after);
        if let Some(retryable) = other.retryable {
            self.say_retryable(retryable);
        }
    }

    /// A failure of this class with all that the envelope says.
    pub(super) fn into_failure(self, class: Class) -> Failure {
        // The one code that lets a tool run again that ran, by the word of who documented it.
        let is_documented = class == Class::Upstream
            && matches!(&self.code, Some(Code::Text(code)) if Class::from_documented_code(code) == Some(class));
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

    /// Whoever says no is heard.
    fn say_retryable(&mut self, retryable: bool) {
        self.retryable = Some(retryable && self.retryable.unwrap_or(true));
    }

    fn read_place(&mut self, place: &Object) {
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

    /// The outermost word that is known is the code, and gives the class; else the outermost word, and
    /// a number only where there is no word.
    fn read_code(&mut self, value: &Value) {
        match value {
            Value::String(text) if !text.trim().is_empty() => {
                let known = Class::from_code(text).filter(|_| self.class.is_none());
                if let Some(class) = known {
                    self.class = Some(class);
                    self.delivery = Some(Class::delivery_of_code(text));
                }
                if known.is_some() || !matches!(self.code, Some(Code::Text(_))) {
                    self.code = Some(Code::from(cut(text)));
                }
            }
            Value::Number(number) if self.code.is_none() => {
                self.code = number.as_i64().map(Code::from);
            }
            _ => {}
        }
    }

    fn class_of_status(&self, object: &Object) -> Option<Class> {
        let tells_limits = || {
            of_the_call(object).any(|place| {
                let has = |key| place.get(key).is_some_and(Value::is_object);
                has("current") && has("limits")
            })
        };
        match self.status? {
            503 if tells_limits() => Some(Class::AtCapacity),
            status => status::class(status),
        }
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
