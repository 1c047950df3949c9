use crate::failure::is_hidden;
use std::fmt::Write as _;

/// Writes JSON that is valid wherever it has to be cut.
///
/// The limit holds for the content. The brackets that close what is open come on top, and are few.
#[derive(Debug)]
pub(super) struct Writer {
    out: String,
    limit: usize,
    follows_another: bool,
}

/// Stands for what was cut.
const CUT: &str = "…";

impl Writer {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            // A usual line fits, and few arguments are longer.
            out: String::with_capacity(512.min(limit)),
            limit,
            follows_another: false,
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn has_room(&self) -> bool {
        self.out.len() < self.limit
    }

    pub(super) fn begin(&mut self, bracket: char) {
        self.out.push(bracket);
        self.follows_another = false;
    }

    pub(super) fn end(&mut self, bracket: char) {
        self.out.push(bracket);
        self.follows_another = true;
    }

    /// Begins an item of an array, or a member of an object.
    pub(super) fn item(&mut self) {
        if self.follows_another {
            self.out.push(',');
        }
        self.follows_another = true;
    }

    pub(super) fn key(&mut self, key: &str) {
        self.item();
        self.string(key);
        self.out.push(':');
    }

    /// JSON that needs no escaping, whole or not at all: half a number is another number.
    pub(super) fn literal(&mut self, json: &str) {
        if json.len() <= self.room() {
            self.out.push_str(json);
        } else {
            self.string(CUT);
        }
        self.follows_another = true;
    }

    /// A string, cut where the room ends.
    pub(super) fn string(&mut self, text: &str) {
        self.string_within(text, self.room());
    }

    /// A string, cut after so many bytes.
    pub(super) fn string_within(&mut self, text: &str, room: usize) {
        self.out.push('"');
        escape(&mut self.out, text, room.max(CUT.len()));
        self.out.push('"');
        self.follows_another = true;
    }

    /// Says in an object that more would follow.
    pub(super) fn cut_object(&mut self) {
        self.key(CUT);
        self.string(CUT);
    }

    /// Says in an array that more would follow.
    pub(super) fn cut_array(&mut self) {
        self.item();
        self.string(CUT);
    }

    fn room(&self) -> usize {
        self.limit.saturating_sub(self.out.len())
    }
}

/// Appends a text as the inside of a JSON string, in at most `room` bytes.
///
/// Beside what JSON wants escaped, all control characters are, and whatever else would show a
/// reader something that is not there.
fn escape(out: &mut String, text: &str, room: usize) {
    if text.len() <= room && text.bytes().all(is_plain) {
        out.push_str(text);
        return;
    }
    let end = out.len().saturating_add(room);
    // How far it may go and still have room for the mark.
    let mut safe = out.len();
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
        if out.len() > end {
            out.truncate(safe);
            out.push_str(CUT);
            return;
        }
        if out.len() + CUT.len() <= end {
            safe = out.len();
        }
    }
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')
}
