//! The envelope: an object in which a server says what went wrong.

use super::{
    lookup::{Lookup, Named, is_one_of},
    places::{Place, of_hints, of_the_call},
    retry_after, status, vocabulary as known,
};
use crate::{
    failure::{Class, Code, Delivery, Failure, MESSAGE_LIMIT, first},
    text::is_blank,
};
use serde_json::{Map, Value};
use std::time::Duration;

type Object = Map<String, Value>;

/// What an envelope says. Each part is the first found, outermost first; the wait is the longest.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    named: Option<Named>,
    code: Option<Code>,
    message: Option<String>,
    status: Option<u16>,
    retryable: Option<bool>,
    retry_after: Option<Duration>,
}

impl Envelope {
    /// Reads any JSON value; one that is no envelope says nothing.
    pub(super) fn read(value: &Value, lookup: Lookup<'_>) -> Self {
        let mut envelope = Self::default();
        if let Value::Object(object) = value {
            let places = of_the_call(object, lookup);
            let mut is_status_of_the_call = false;
            for place in &places {
                let had_status = envelope.status.is_some();
                envelope.read_place(place, lookup);
                if !had_status {
                    is_status_of_the_call = place.is_the_call;
                }
            }
            envelope.add_cautions_of(object, lookup);
            if envelope.named.is_none() {
                let named = envelope.class_of_status(&places);
                envelope.named =
                    named.map(|(class, reached)| (class, delivery(reached, is_status_of_the_call)));
            }
        }
        envelope
    }

    /// The class that it names, and how far the call got by that.
    pub(super) fn class(&self) -> Option<Named> {
        self.named
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

    /// Takes from an object, wherever in it they stand, the wait, and that a repeat is not fine.
    fn add_cautions_of(&mut self, object: &Object, lookup: Lookup<'_>) {
        let places = of_the_call(object, lookup);
        let objects = places.iter().flat_map(|place| of_hints(place.object));
        for (key, value) in objects.flatten() {
            if says_no(key, value) {
                self.say_retryable(false);
            }
            self.retry_after = self
                .retry_after
                .max(retry_after::member(key, value, lookup));
        }
    }

    /// The same from what a server says beside the answer, and that a repeat is fine: in its own
    /// members, or those of a namespace there.
    pub(super) fn add_hints_of(&mut self, object: &Object, lookup: Lookup<'_>) {
        let namespaces = object.values().filter_map(Value::as_object);
        let own = std::iter::once(object).chain(namespaces);
        if own.flatten().any(|(key, value)| says_yes(key, value)) {
            self.say_retryable(true);
        }
        self.add_cautions_of(object, lookup);
    }

    /// Takes the cautions of another envelope.
    pub(super) fn add_cautions(&mut self, other: &Self) {
        self.retry_after = self.retry_after.max(other.retry_after);
        if other.retryable == Some(false) {
            self.say_retryable(false);
        }
    }

    /// A failure of this class with all that the envelope says.
    pub(super) fn into_failure(self, class: Class, lookup: Lookup<'_>) -> Failure {
        // The one code that lets a tool run again that ran, by the word of who documented it.
        let is_documented = class == Class::Upstream
            && self.named == Some((class, Delivery::Executed))
            && matches!(&self.code, Some(Code::Text(code)) if lookup.is_documented(code, class));
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

    fn read_place(&mut self, place: &Place<'_>, lookup: Lookup<'_>) {
        for (key, value) in place.object {
            let is_known = || {
                let word = value.as_str();
                word.is_some_and(|word| lookup.word(word).is_some())
            };
            if lookup.is_code_field(key) || (is_one_of(known::MAYBE_CODE, key) && is_known()) {
                self.read_code(value, place.is_the_call, lookup);
            }
            if self.message.is_none() && is_one_of(known::MESSAGE, key) {
                self.message = value.as_str().filter(|text| !is_blank(text)).map(cut);
            }
            if self.status.is_none() && is_one_of(known::STATUS, key) {
                self.status = http_status(value);
            }
            // A part of what was done may be repeatable, where the whole is not.
            if place.is_the_call && says_yes(key, value) {
                self.say_retryable(true);
            }
        }
    }

    /// The outermost word that is known is the code, and gives the class; else the outermost word, and
    /// a number only where there is no word.
    fn read_code(&mut self, value: &Value, is_the_call: bool, lookup: Lookup<'_>) {
        match value {
            Value::String(text) if !text.trim().is_empty() => {
                let is_open = self.named.is_none() || matches!(self.code, Some(Code::Number(_)));
                let named = lookup.word(text).filter(|_| is_open);
                if let Some((class, reached)) = named {
                    self.named = Some((class, delivery(reached, is_the_call)));
                }
                if named.is_some() || !matches!(self.code, Some(Code::Text(_))) {
                    self.code = Some(Code::from(cut(text)));
                }
            }
            Value::Number(number) => {
                let number = number.as_i64();
                if self.code.is_none() {
                    self.code = number.map(Code::from);
                }
                if self.named.is_none() {
                    let named = number.and_then(|number| lookup.own_number(number));
                    self.named =
                        named.map(|(class, reached)| (class, delivery(reached, is_the_call)));
                }
            }
            _ => {}
        }
    }

    /// By the status alone, of which 503 does not tell how far the call got: whatever is in the way
    /// says it too.
    fn class_of_status(&self, places: &[Place<'_>]) -> Option<Named> {
        let tells_limits = || {
            places.iter().any(|place| {
                let has = |key| place.object.get(key).is_some_and(Value::is_object);
                has("current") && has("limits")
            })
        };
        let class = match self.status? {
            503 if tells_limits() => Class::AtCapacity,
            503 => return Some((Class::Unavailable, Delivery::Unknown)),
            status => status::class(status)?,
        };
        Some((class, class.delivery()))
    }
}

/// How far the call got by a word: what a part of it says does not tell of the whole.
fn delivery(said: Delivery, is_the_call: bool) -> Delivery {
    if is_the_call { said } else { Delivery::Unknown }
}

fn says_yes(key: &str, value: &Value) -> bool {
    is_one_of(known::RETRYABLE, key) && *value == Value::Bool(true)
}

/// Also in a text, or in a word of the server's own: who says no is heard however it is said.
fn says_no(key: &str, value: &Value) -> bool {
    let is_word = |word: &str| {
        let text = value.as_str();
        text.is_some_and(|text| text.trim().eq_ignore_ascii_case(word))
    };
    if is_one_of(known::RETRYABLE, key) {
        return *value == Value::Bool(false) || is_word("false");
    }
    let mut finals = known::FINAL.iter();
    finals.any(|(field, words)| is_one_of(&[*field], key) && words.iter().any(|word| is_word(word)))
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
