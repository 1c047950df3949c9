use super::{
    Long, Unreadable,
    answer::{self, Answer},
    asked::{Asked, Pending, canonical},
    literal, message,
    outline::Outline,
    surrogates::without_halves,
};
use crate::rmcp::wire::{Scan, raw};
use ::rmcp::model::ServerJsonRpcMessage;
use serde_json::Value;
use std::borrow::Cow;

/// The most requests and notifications that are read in one text.
const MESSAGES: usize = 4096;

/// The same for answers, if the waiting requests are unknown.
const ANSWERS: usize = 64 * 1024;

/// How many times a text that is not JSON may be scanned, and the length up to which this does not
/// matter.
const SCANS: usize = 4;
const SHORT: usize = 64 * 1024;

const ODD_ID: &str = "its id is of a type that no request has";

/// The content of a text of the server.
#[derive(Debug)]
pub(in crate::rmcp::client) enum Found {
    /// A request or a notification of the server.
    Message(ServerJsonRpcMessage),
    /// The answer to a waiting request. If it cannot be read, an error that says so, and the reason.
    Answer {
        message: ServerJsonRpcMessage,
        /// Whether rmcp reads the same in its text.
        #[cfg_attr(
            not(feature = "rmcp-client-http"),
            allow(dead_code, reason = "events alone are handed on as texts")
        )]
        is_whole: bool,
    },
    /// One or more answers to requests that do not wait.
    Foreign,
    /// No message, or none for a waiting request; one for all of them in a text.
    Unreadable(Unreadable),
}

/// Reads a whole line, body or event.
pub(in crate::rmcp::client) fn read(bytes: &[u8], pending: &mut impl Pending) -> Vec<Found> {
    of_bytes(bytes, pending, false)
}

/// The same for a text that may be cut off. An object without its end is not an answer.
pub(super) fn read_last(bytes: &[u8], pending: &mut impl Pending) -> Vec<Found> {
    of_bytes(bytes, pending, true)
}

impl Long {
    /// Ends the requests whose ids are in it. If there are none, reports that it is not a message.
    pub(in crate::rmcp::client) fn read(mut self, pending: &mut impl Pending) -> Vec<Found> {
        let unreadable = self.too_long();
        let ids = self.heads().into_iter().filter_map(|head| head.answers);
        let asked = ids.filter_map(|id| pending.take(Some(&id)));
        let found: Vec<_> = asked
            .map(|asked| broken(unreadable.clone(), &asked))
            .collect();
        if found.is_empty() {
            return vec![Found::Unreadable(unreadable)];
        }
        found
    }
}

/// A text that is not JSON, or of which only the beginning was kept, in place of an answer.
fn broken(unreadable: Unreadable, asked: &Asked) -> Found {
    Found::Answer {
        message: unreadable.answer(asked),
        is_whole: false,
    }
}

fn of_bytes(bytes: &[u8], pending: &mut impl Pending, is_last: bool) -> Vec<Found> {
    let whole = String::from_utf8_lossy(bytes);
    let text = whole.trim_start_matches('\u{feff}').trim();
    // JSON as a text in JSON.
    let inner = text.starts_with('"').then(|| serde_json::from_str(text));
    let inner: Option<String> = inner.and_then(Result::ok);
    let inner = inner.filter(|inner| inner.trim_start().starts_with(['{', '[']));
    // rmcp reads neither several messages in a text nor a byte order mark, nor blanks that are no JSON.
    let is_alone = inner.is_none()
        && matches!(whole, Cow::Borrowed(_))
        && text.len() == whole.trim_matches(raw::is_space).len();
    let text = without_halves(inner.as_deref().unwrap_or(text));
    let is_alone = is_alone && matches!(text, Cow::Borrowed(_));
    let reader = Reader {
        text: &text,
        is_alone,
        is_last,
        pending,
        found: Vec::new(),
        messages: 0,
        is_inside: false,
        foreign: 0,
        skipped: None,
        left: SHORT.max(SCANS * text.len()),
    };
    reader.read()
}

struct Reader<'a, P> {
    text: &'a str,
    is_alone: bool,
    is_last: bool,
    pending: &'a mut P,
    found: Vec<Found>,
    messages: usize,
    /// Whether the objects may be parts of a broken one.
    is_inside: bool,
    /// How many answers no request waits for.
    foreign: u64,
    /// The first text that is not a message, and how many there are.
    skipped: Option<(Unreadable, u64)>,
    /// How much may be scanned again, in bytes.
    left: usize,
}

impl<P: Pending> Reader<'_, P> {
    /// Examines every outermost object and ignores the text around it.
    fn read(mut self) -> Vec<Found> {
        let text = self.text;
        let mut at = 0;
        while let Some(step) = text[at..].find('{') {
            self.between(&text[at..at + step]);
            at += step;
            at += self.object(&text[at..]);
        }
        self.between(&text[at..]);
        if self.foreign > 0 {
            self.found.push(Found::Foreign);
        }
        if let Some((first, count)) = self.skipped {
            let skipped = first.and_more(count - 1);
            self.found.push(Found::Unreadable(skipped));
        }
        self.found
    }

    fn between(&mut self, text: &str) {
        let is_part_of_a_list = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | ',');
        if !text.chars().all(is_part_of_a_list) {
            self.skip("it is not a json-rpc message", text);
        }
    }

    fn skip(&mut self, reason: &str, text: &str) {
        self.skip_all(reason, text, 1);
    }

    fn skip_all(&mut self, reason: &str, text: &str, more: u64) {
        match &mut self.skipped {
            // A text that may be meant as a message is more useful.
            Some((first, count)) if first.looks_like_json() || !text.starts_with('{') => {
                *count += more;
            }
            skipped => {
                let count = skipped.take().map_or(0, |(_, count)| count) + more;
                *skipped = Some((Unreadable::new(reason, text), count));
            }
        }
    }

    /// Reads a text that begins with a brace, and returns the length that is done.
    fn object(&mut self, text: &str) -> usize {
        if !text[1..].trim_start().starts_with(['"', '}']) {
            return self.unlike_json(text);
        }
        if self.left == 0 {
            self.skip("it is not json", text);
            return text.len();
        }
        match Outline::read(text) {
            Ok((outline, length)) => {
                let is_alone = self.is_alone && length == self.text.len();
                self.whole(&outline, &text[..length], is_alone);
                length
            }
            Err(reason) => self.broken(text, &reason),
        }
    }

    /// Reads an object. `is_alone`: it is the whole text.
    fn whole(&mut self, outline: &Outline<'_>, text: &str, is_alone: bool) {
        if outline.is_servers() {
            if self.messages >= MESSAGES {
                return self.skip("there are too many messages in one text", text);
            }
            self.messages += 1;
            return match message::read(text) {
                Ok(message) => self.found.push(Found::Message(message)),
                Err(reason) => self.skip(&reason, text),
            };
        }
        let is_answer = outline.is_answer(self.pending.is_alone());
        if !is_answer || self.is_inside && !outline.has_version() {
            return self.skip("it is not a json-rpc message", text);
        }
        if self.found.len() >= MESSAGES + ANSWERS {
            return self.skip("there are too many answers in one text", text);
        }
        let ids: Vec<_> = outline.ids().collect();
        let asked = match &ids[..] {
            [] => self.pending.take(None),
            ids => ids.iter().find_map(|id| self.pending.take(Some(id))),
        };
        let Some(asked) = asked else {
            return self.not_asked_for(outline, &ids, text);
        };
        let found = match answer::read(outline, &asked, is_alone && self.pending.hands_on()) {
            Ok(Answer { message, is_whole }) => Found::Answer { message, is_whole },
            Err(reason) => broken(Unreadable::new(reason, text), &asked),
        };
        self.found.push(found);
    }

    /// An answer whose id belongs to no waiting request.
    fn not_asked_for(&mut self, outline: &Outline<'_>, ids: &[Value], text: &str) {
        if ids.iter().any(|id| canonical(id).is_some()) {
            self.foreign += 1;
        } else if !outline.has_id() {
            self.skip("it is an answer without an id", text);
        } else if let Some(asked) = self.pending.only().filter(|_| outline.has_version()) {
            let unreadable = Unreadable::new(ODD_ID, text);
            self.found.push(broken(unreadable, &asked));
        } else {
            self.skip(ODD_ID, text);
        }
    }

    /// The same for a text that does not begin as JSON does. In the syntax of another language it may
    /// still be an answer.
    fn unlike_json(&mut self, text: &str) -> usize {
        const REASON: &str = "it is not json";
        if self.left > 0 && literal::begins(text) {
            let length = Scan::default().feed(text.as_bytes());
            self.left = self.left.saturating_sub(length);
            let written = &text[..length];
            let mut ids = literal::ids(written).filter(|_| literal::names_an_answer(written));
            if let Some(asked) = ids.find_map(|id| self.pending.take(Some(&id))) {
                self.found
                    .push(broken(Unreadable::new(REASON, written), &asked));
                return length;
            }
        }
        self.skip("it is not a json-rpc message", text);
        1
    }

    /// The same for a text that is not JSON, or has too many members.
    fn broken(&mut self, text: &str, reason: &str) -> usize {
        let mut scan = Scan::default();
        let length = scan.feed(text.as_bytes());
        self.left = self.left.saturating_sub(length);
        let has_end = scan.is_over();
        if self.is_last && !has_end {
            self.skip("it was cut off by the end of the stream", text);
            self.is_inside = true;
            return 1;
        }
        let may_be = scan.may_be_an_answer();
        let asked = match scan.into_id() {
            Some(id) if canonical(&id).is_none() => self.pending.only(),
            Some(id) => self.pending.take(Some(&id)),
            // Its quotes may be broken, so its members may be elsewhere.
            None if may_be && !has_end => {
                literal::ids(text).find_map(|id| self.pending.take(Some(&id)))
            }
            None => None,
        };
        match asked {
            Some(asked) => {
                let unreadable = Unreadable::new(reason, &text[..length]);
                self.found.push(broken(unreadable, &asked));
            }
            None => self.skip(reason, text),
        }
        match may_be {
            _ if has_end => length,
            // Nothing in an answer is an answer.
            true => text[1..]
                .find("{\"jsonrpc\"")
                .map_or(text.len(), |at| at + 1),
            false => {
                self.is_inside = true;
                1
            }
        }
    }
}
