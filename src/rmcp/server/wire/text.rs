use super::{
    ids::Ids,
    read::{Found, broken, object, typed},
};
use crate::rmcp::wire::{Scan, Unreadable, raw};

/// A line, read message by message: it may hold a batch, or several messages.
#[derive(Debug)]
pub(super) struct Text {
    line: String,
    at: usize,
    is_utf8: bool,
    /// Without a line end, text that is not JSON is cut off.
    is_last: bool,
    /// Whether its brackets are broken.
    is_inside: bool,
    skipped: Option<Skipped>,
}

/// The part of a text that is not a message: its beginning, and whether any of it is JSON.
#[derive(Debug)]
pub(super) struct Skipped {
    pub(super) text: Unreadable,
    pub(super) is_json: bool,
}

impl Text {
    pub(super) fn new(line: Vec<u8>, is_last: bool) -> Self {
        let (line, is_utf8) = match String::from_utf8(line) {
            Ok(line) => (line, true),
            Err(error) => (
                String::from_utf8_lossy(error.as_bytes()).into_owned(),
                false,
            ),
        };
        // JSON as a text in JSON.
        let text = line.trim_start_matches('\u{feff}').trim();
        let inner = text.starts_with('"').then(|| serde_json::from_str(text));
        let inner: Option<String> = inner.and_then(Result::ok);
        let inner = inner.filter(|inner| inner.trim_start().starts_with(['{', '[']));
        Self {
            line: inner.unwrap_or(line),
            at: 0,
            is_utf8,
            is_last,
            is_inside: false,
            skipped: None,
        }
    }

    /// The next message in it.
    pub(super) fn next(&mut self, ids: &mut Ids) -> Option<Found> {
        loop {
            let is_inside = self.is_inside;
            let is_between = |c: char| {
                c.is_whitespace() || c == '\u{feff}' || is_inside && matches!(c, ',' | '[' | ']')
            };
            let rest = self.line[self.at..].trim_start_matches(is_between);
            self.at = self.line.len() - rest.len();
            if rest.is_empty() {
                return None;
            }
            let step = step(rest, self.is_utf8, self.is_last, ids);
            self.is_inside |= step.enters;
            let text = &rest[..step.length];
            match step.found {
                Some(Found::Nothing(reason)) => {
                    let skipped = Skipped::one(self.skipped.take(), &reason, text, step.is_json);
                    self.skipped = Some(skipped);
                    self.at += step.length;
                }
                found => {
                    self.at += step.length;
                    if found.is_some() {
                        return found;
                    }
                }
            }
        }
    }

    /// The text that was not a message, once there is no further message.
    pub(super) fn skipped(&mut self) -> Option<Skipped> {
        self.skipped.take()
    }
}

impl Skipped {
    fn one(before: Option<Self>, reason: &str, text: &str, is_json: bool) -> Self {
        match before {
            Some(Self { text, is_json: was }) => Self {
                text: {
                    let more = text.count();
                    text.and_more(more)
                },
                is_json: was || is_json,
            },
            None => Self {
                text: Unreadable::new(reason, text),
                is_json,
            },
        }
    }
}

/// The beginning of a text.
struct Step {
    length: usize,
    found: Option<Found>,
    is_json: bool,
    /// Whether the rest is inside of brackets.
    enters: bool,
}

impl Step {
    fn found(length: usize, found: Found, is_json: bool) -> Self {
        Self {
            length,
            found: Some(found),
            is_json,
            enters: false,
        }
    }
}

fn step(rest: &str, is_utf8: bool, is_last: bool, ids: &mut Ids) -> Step {
    // Nearly all lines are one message that rmcp can read.
    if is_utf8
        && rest.starts_with('{')
        && let Ok(message) = serde_json::from_str(rest)
    {
        return Step::found(rest.len(), typed(message, rest, ids), true);
    }
    let error = match raw::value(rest) {
        Ok((value, _)) if is_utf8 => return whole(value, ids),
        Ok((value, _)) if value.starts_with('{') => {
            let mut scan = Scan::default();
            scan.feed(value.as_bytes());
            let found = broken(scan.into_head(), "it is not in UTF-8", ids);
            return Step::found(value.len(), found, false);
        }
        Ok((value, _)) if !value.starts_with('[') => {
            let found = Found::Nothing("it is not in UTF-8".to_owned());
            return Step::found(value.len(), found, false);
        }
        Ok(_) => String::new(),
        Err(_) if is_last => {
            let found = Found::Nothing("it was cut off by the end of the stream".to_owned());
            return Step::found(rest.len(), found, false);
        }
        Err(error) => format!("it is not json: {error}"),
    };
    if rest.starts_with('[') {
        return Step {
            length: 1,
            found: None,
            is_json: false,
            enters: true,
        };
    }
    if rest.starts_with('{') {
        let mut scan = Scan::default();
        let length = scan.feed(rest.as_bytes());
        let found = broken(scan.into_head(), &error, ids);
        return Step::found(length, found, false);
    }
    let length = rest.find('{').unwrap_or(rest.len());
    Step::found(length, Found::Nothing(error), false)
}

/// Reads a value. The members of a batch are read one by one.
fn whole(value: &str, ids: &mut Ids) -> Step {
    if value.starts_with('{') {
        return Step::found(value.len(), object(value, ids), true);
    }
    let is_list = value.starts_with('[');
    if is_list && !value[1..].trim_start().starts_with(']') {
        return Step {
            length: 1,
            found: None,
            is_json: true,
            enters: true,
        };
    }
    let reason = if is_list {
        "it is an empty batch"
    } else {
        "it is not a json-rpc message"
    };
    Step::found(value.len(), Found::Nothing(reason.to_owned()), true)
}
