use crate::{
    failure::first,
    rmcp::{
        client::wire::{LONGEST, Long},
        wire::is_whole,
    },
};
use sse_stream::Sse;
use std::mem;

/// How much is kept of a body without events, in bytes.
const OTHER: usize = 1024;

/// Divides a body into events, by the standard: unknown fields are skipped, and bytes that are not
/// UTF-8 are read with replacement characters. Lines of JSON without a field name count as data,
/// because some servers send JSON with the content type of events.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// The current line.
    line: Vec<u8>,
    was_return: bool,
    had_line: bool,
    event: Sse,
    /// The event has lines of JSON without a field name.
    is_bare: bool,
    /// How long the event is so far.
    size: usize,
    /// The rest of an event that is too long.
    long: Option<Long>,
    kind: Kind,
}

/// What a body has been so far.
#[derive(Clone, Debug, Default)]
enum Kind {
    #[default]
    Empty,
    /// It has a part of an event.
    Events,
    /// It has none, and begins with this line.
    Other(String),
}

#[derive(Debug)]
pub(super) enum Parsed {
    Event(Sse),
    /// An event that is longer than 16 MiB.
    Long(Long),
    /// The beginning of a complete body that has no events, such as a page of a proxy.
    Other(String),
}

impl Parser {
    /// Takes the next part of the body, and returns the events that end in it.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Parsed> {
        let mut parsed = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let is_second_half = at == 0 && rest[0] == b'\n' && self.was_return;
            if !is_second_half {
                self.add(&rest[..at]);
                parsed.extend(self.end_line());
            }
            self.was_return = rest[at] == b'\r';
            rest = &rest[at + 1..];
        }
        if !rest.is_empty() {
            self.was_return = false;
            self.add(rest);
        }
        parsed
    }

    /// Whether a part of an event has come.
    pub(super) fn is_begun(&self) -> bool {
        !self.line.is_empty() || self.event.data.is_some()
    }

    /// Takes an event without its empty line, if all objects in it are complete.
    pub(super) fn whole(&mut self) -> Option<Parsed> {
        if self.long.is_some() {
            return None;
        }
        let mut rest = Self {
            line: self.line.clone(),
            event: self.event.clone(),
            long: None,
            kind: self.kind.clone(),
            ..*self
        };
        if !rest.line.is_empty() {
            rest.end_line();
        }
        let data = rest.event.data.as_deref().unwrap_or_default();
        if !data.trim_start().starts_with(['{', '[', '"']) || !is_whole(data.as_bytes()) {
            return None;
        }
        *self = rest;
        self.end_event()
    }

    /// What came in place of events, at the end of the body.
    pub(super) fn other(&mut self) -> Option<Parsed> {
        if !self.line.is_empty() {
            self.end_line();
        }
        match mem::take(&mut self.kind) {
            Kind::Other(text) => Some(Parsed::Other(text)),
            Kind::Empty | Kind::Events => None,
        }
    }

    fn add(&mut self, part: &[u8]) {
        if let Some(long) = &mut self.long {
            long.add(part);
            self.line.extend_from_slice(&part[..part.len().min(1)]);
            self.line.truncate(1);
            return;
        }
        self.size += part.len();
        self.line.extend_from_slice(part);
        if self.size > LONGEST {
            let mut long = Long::default();
            if let Some(data) = self.event.data.take() {
                long.add(data.as_bytes());
            }
            let line = mem::take(&mut self.line);
            long.add(
                line.strip_prefix(b"data:")
                    .unwrap_or(&line)
                    .trim_ascii_start(),
            );
            self.line.push(b'x');
            self.long = Some(long);
        }
    }

    fn end_line(&mut self) -> Option<Parsed> {
        let line = mem::take(&mut self.line);
        let is_first = !mem::replace(&mut self.had_line, true);
        if !line.is_empty() {
            if self.long.is_none() {
                let line = String::from_utf8_lossy(&line);
                let mark = if is_first { "\u{feff}" } else { "" };
                self.field(line.strip_prefix(mark).unwrap_or(&line));
            }
            return None;
        }
        self.end_event()
    }

    fn end_event(&mut self) -> Option<Parsed> {
        self.size = 0;
        self.is_bare = false;
        let event = mem::take(&mut self.event);
        if let Some(long) = self.long.take() {
            return Some(Parsed::Long(long));
        }
        let is_empty = event.data.is_none() && event.id.is_none() && event.retry.is_none();
        (!is_empty).then_some(Parsed::Event(event))
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        let event = &mut self.event;
        match name {
            "data" => add_line(&mut event.data, value),
            "event" => event.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => event.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                event.retry = value.parse().ok().or(event.retry);
            }
            _ if self.is_bare || line.trim_start().starts_with(['{', '[']) => {
                self.is_bare = true;
                add_line(&mut event.data, line);
            }
            // A comment.
            "" | "id" | "retry" => {}
            _ => {
                if matches!(self.kind, Kind::Empty) && !line.trim().is_empty() {
                    self.kind = Kind::Other(first(line, OTHER).to_owned());
                }
                return;
            }
        }
        self.kind = Kind::Events;
    }
}

fn add_line(data: &mut Option<String>, line: &str) {
    match data {
        Some(data) => {
            data.push('\n');
            data.push_str(line);
        }
        none => *none = Some(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(parsed: &[Parsed]) -> Vec<&str> {
        let data = parsed.iter().map(|parsed| match parsed {
            Parsed::Event(event) => event.data.as_deref().unwrap_or("none"),
            Parsed::Long(_) => "long",
            Parsed::Other(_) => "other",
        });
        data.collect()
    }

    #[test]
    fn the_last_event_needs_no_empty_line_if_it_is_whole() {
        for (body, expected) in [
            ("data: {\"a\":1}\n", &["{\"a\":1}"][..]),
            ("data: {\"a\":1}", &["{\"a\":1}"][..]),
            ("data: {\"a\":\ndata: 1}", &["{\"a\":\n1}"][..]),
            ("data: {\"a\":", &[][..]),
            ("data: {\"a\":\"}", &[][..]),
            ("data: {\"a\":1}{", &[][..]),
            ("data: 1", &[][..]),
            ("id: 1\n", &[][..]),
            ("", &[][..]),
        ] {
            let mut parser = Parser::default();
            assert!(parser.push(body.as_bytes()).is_empty(), "{body}");
            let last: Vec<_> = parser.whole().into_iter().collect();
            assert_eq!(data(&last), expected, "{body}");
            // Later input is not lost.
            let rest = if expected.is_empty() {
                "\n\n"
            } else {
                "\n\ndata: b\n\n"
            };
            let parsed = parser.push(rest.as_bytes());
            assert_eq!(data(&parsed).contains(&"b"), !expected.is_empty(), "{body}");
        }
    }

    #[test]
    fn the_limit_is_for_one_event_whichever_way_its_lines_end() {
        let megabyte = "x".repeat(1024 * 1024);
        for end in ["\n", "\r\n", "\r"] {
            let mut parser = Parser::default();
            let event = format!("data: {megabyte}{end}id: 1{end}{end}");
            for _ in 0..20 {
                let parsed = parser.push(event.as_bytes());
                assert!(
                    matches!(&parsed[..], [Parsed::Event(_)]),
                    "{end:?}: many events"
                );
            }
            let line = format!("data: {megabyte}{end}");
            for _ in 0..20 {
                assert!(
                    parser.push(line.as_bytes()).is_empty(),
                    "{end:?}: no end yet"
                );
            }
            let parsed = parser.push(format!("{end}data: next{end}{end}").as_bytes());
            assert_eq!(data(&parsed), ["long", "next"], "{end:?}: one event");
        }
    }
}
