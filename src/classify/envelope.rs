//! The envelope: an object in which a server describes a failure.

use super::{
    built_in as known,
    lookup::{Lookup, is_one_of},
    named::Named,
    places::{Place, of_cautions, of_hints, of_the_call},
    retry_after,
};
use crate::{
    failure::{Class, Code, Failure, MESSAGE_LIMIT, Witness, class_of_status, first, is_same_word},
    text::is_blank,
};
use serde_json::{Map, Value};
use std::time::Duration;

type Object = Map<String, Value>;

/// The content of an envelope. Each part is the first one found, outermost first. The wait is the
/// longest.
#[derive(Debug)]
pub(super) struct Envelope {
    // The server in a structured form, or any source in a text.
    speaker: Witness,
    named: Option<Named>,
    // Which source says that a repeat is safe because of the code.
    repeatable: Option<Witness>,
    code: Option<Code>,
    message: Option<String>,
    status: Option<u16>,
    retryable: Option<bool>,
    retry_after: Option<Duration>,
}

impl Envelope {
    /// An empty envelope.
    pub(super) fn empty(speaker: Witness) -> Self {
        Self {
            speaker,
            named: None,
            repeatable: None,
            code: None,
            message: None,
            status: None,
            retryable: None,
            retry_after: None,
        }
    }

    /// Reads any JSON value. A value that is not an envelope gives an empty one.
    pub(super) fn read(value: &Value, speaker: Witness, lookup: Lookup<'_>) -> Self {
        let mut envelope = Self::empty(speaker);
        if let Value::Object(object) = value {
            let places = of_the_call(object, lookup);
            for place in &places {
                envelope.read_place(place, lookup);
            }
            envelope.add_cautions_of(object, lookup);
            if envelope.named.is_none() {
                envelope.named = envelope.class_of_status(&places).map(Named::of);
            }
        }
        envelope
    }

    /// The class that it names, and the delivery that follows.
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

    /// Reads from an object the wait, and that a repeat is not safe, at any of their places.
    pub(super) fn add_cautions_of(&mut self, object: &Object, lookup: Lookup<'_>) {
        let places = of_the_call(object, lookup);
        let objects = places.iter().flat_map(|place| of_cautions(place.object));
        if objects.flatten().any(|(key, value)| says_no(key, value)) {
            self.say_retryable(false);
        }
        let objects = places.iter().flat_map(|place| of_hints(place.object));
        for (key, value) in objects.flatten() {
            self.retry_after = self
                .retry_after
                .max(retry_after::member(key, value, lookup));
        }
    }

    /// Adds the wait of another envelope, and that a repeat is not safe.
    pub(super) fn add_cautions(&mut self, other: &Self) {
        self.retry_after = self.retry_after.max(other.retry_after);
        if other.retryable == Some(false) {
            self.say_retryable(false);
        }
    }

    /// Makes a failure with all details of the envelope.
    pub(super) fn into_failure(self, named: Named) -> Failure {
        let (retryable, by) = match (self.retryable, self.repeatable) {
            (None, Some(witness)) => (Some(true), witness),
            (Some(true), Some(Witness::Author)) => (Some(true), Witness::Author),
            (said, _) => (said, self.speaker),
        };
        let failure = Failure::new(named.class, self.message.unwrap_or_default())
            .with_retry_after(self.retry_after)
            .permitted(retryable, by);
        let mut failure = named.tell(failure);
        if let Some(code) = self.code {
            failure = failure.with_code(code);
        }
        if let Some(status) = self.status {
            failure = failure.with_status(status);
        }
        failure
    }

    /// A "no" from anywhere counts.
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
                self.read_code(value, place, lookup);
            }
            if self.message.is_none() && is_one_of(known::MESSAGE, key) {
                self.message = value.as_str().filter(|text| !is_blank(text)).map(cut);
            }
            if self.status.is_none() && is_one_of(known::STATUS, key) {
                self.status = http_status(value);
            }
            // A part of the work may be repeatable although the whole is not.
            if place.is_alone && says_yes(key, value) {
                self.say_retryable(true);
            }
        }
    }

    /// The code is the outermost known word, which gives the class; else the outermost word; else a
    /// number.
    fn read_code(&mut self, value: &Value, place: &Place<'_>, lookup: Lookup<'_>) {
        match value {
            Value::String(text) if !text.trim().is_empty() => {
                let is_open = self.named.is_none() || matches!(self.code, Some(Code::Number(_)));
                let named = lookup.word(text).filter(|_| is_open);
                if let Some(named) = named {
                    self.named = Some(self.read_in(named, place));
                    let own = lookup.own_word(text);
                    let is_repeatable = match own {
                        Some(own) => own.is_repeatable,
                        None => place.is_alone && is_repeatable(text, place.object),
                    };
                    let by = own.map_or(self.speaker, |_| Witness::Author);
                    self.repeatable = (place.is_the_call && is_repeatable).then_some(by);
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
                    let own = number.and_then(|number| lookup.own_number(number));
                    self.named = own.map(|own| self.read_in(own.named(), place));
                    let is_repeatable = own.is_some_and(|own| own.is_repeatable);
                    self.repeatable =
                        (place.is_the_call && is_repeatable).then_some(Witness::Author);
                }
            }
            _ => {}
        }
    }

    fn read_in(&self, named: Named, place: &Place<'_>) -> Named {
        match place {
            Place { is_alone: true, .. } => named.read_from(self.speaker),
            Place {
                is_the_call: true, ..
            } => named.read_from(Witness::Hearsay),
            _ => named.of_a_part(),
        }
    }

    /// By the status alone. It may be that of an API behind the tool, so it does not say whether the
    /// tool ran.
    fn class_of_status(&self, places: &[Place<'_>]) -> Option<Class> {
        let tells_limits = || {
            places.iter().any(|place| {
                let has = |key| place.object.get(key).is_some_and(Value::is_object);
                has("current") && has("limits")
            })
        };
        match self.status? {
            503 if tells_limits() => Some(Class::AtCapacity),
            status => class_of_status(status),
        }
    }
}

/// The failure that structured content without a flag clearly describes: a documented code and a
/// text, both at the top.
///
/// Other codes do not count, since documents have them too.
pub(crate) fn read_unflagged(value: &Value) -> Option<Failure> {
    let object = value.as_object()?;
    let text = |key| object.get(key).and_then(Value::as_str);
    let code = ["code", "error_code", "errorCode"]
        .into_iter()
        .find_map(text)?;
    let class = Class::from_documented_code(code)?;
    let mut messages = ["error", "message"].into_iter().filter_map(text);
    let is_told = messages.any(|message| !is_blank(message));
    let envelope = || Envelope::read(value, Witness::Hearsay, Lookup::BUILT_IN);
    is_told.then(|| envelope().into_failure(Named::of(class)))
}

/// Whether this is the envelope that is documented as safe to repeat.
fn is_repeatable(code: &str, object: &Object) -> bool {
    let status = object.get("status").and_then(http_status);
    is_same_word(known::REPEATABLE, code)
        && object.get("error").is_some_and(Value::is_string)
        && status.is_some_and(|status| status >= known::REPEATABLE_FROM)
}

fn says_yes(key: &str, value: &Value) -> bool {
    is_one_of(known::RETRYABLE, key) && *value == Value::Bool(true)
}

/// A "no" is read in more forms than a "yes": in a text, as a number, or as a code of the server.
fn says_no(key: &str, value: &Value) -> bool {
    let is_word = |words: &[&str]| {
        let text = value.as_str().map(str::trim);
        text.is_some_and(|text| words.iter().any(|word| text.eq_ignore_ascii_case(word)))
    };
    if is_one_of(known::NO_WITH_FALSE, key) {
        let may_count = is_one_of(&[known::MAYBE_A_COUNT], key);
        let is_zero = value.as_f64() == Some(0.0) || is_word(&["0"]);
        return match value {
            Value::Bool(said) => !said,
            _ if is_zero => !may_count,
            _ => is_word(known::NO),
        };
    }
    if is_one_of(known::NO_WITH_TRUE, key) {
        return *value == Value::Bool(true) || is_word(&["true", "yes"]);
    }
    let mut finals = known::FINAL.iter();
    finals.any(|(field, words)| is_one_of(&[*field], key) && is_word(words))
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
