use crate::text::is_hidden;
use std::fmt::Write as _;

/// Writes JSON that stays valid when it is cut.
///
/// The limit is for the content. The few brackets that close what is open come on top.
#[derive(Debug)]
pub(super) struct Writer {
    out: String,
    limit: usize,
    follows_another: bool,
}

/// The mark of a cut.
const CUT: &str = "…";

impl Writer {
    pub(super) fn new(limit: usize) -> Self {
        Self::with_capacity(limit, 512)
    }

    pub(super) fn with_capacity(limit: usize, capacity: usize) -> Self {
        Self {
            out: String::with_capacity(capacity.min(limit)),
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

    /// A key as [`key!`](super::line::key) writes it.
    #[inline]
    pub(super) fn known_key(&mut self, key: &'static str) {
        // The first member has no comma.
        let key = if self.follows_another { key } else { &key[1..] };
        self.out.push_str(key);
    }

    /// A string that needs no escaping and is never cut.
    pub(super) fn known_string(&mut self, text: &str) {
        self.out.push('"');
        self.out.push_str(text);
        self.out.push('"');
        self.follows_another = true;
    }

    /// JSON that needs no escaping, as a whole or not at all: half a number is another number.
    pub(super) fn literal(&mut self, json: &str) {
        if json.len() <= self.room() {
            self.out.push_str(json);
        } else {
            self.string(CUT);
        }
        self.follows_another = true;
    }

    /// A string, cut at the limit.
    pub(super) fn string(&mut self, text: &str) {
        self.string_within(text, self.room());
    }

    /// A string, cut after this many bytes.
    pub(super) fn string_within(&mut self, text: &str, room: usize) {
        self.out.reserve(text.len().min(room) + 2);
        self.out.push('"');
        if text.len() <= room && plain_length(text.as_bytes()) == text.len() {
            self.out.push_str(text);
        } else {
            escape(&mut self.out, text, room.max(CUT.len()));
        }
        self.out.push('"');
        self.follows_another = true;
    }

    /// Marks in an object that there is more.
    pub(super) fn cut_object(&mut self) {
        self.key(CUT);
        self.string(CUT);
    }

    /// Marks in an array that there is more.
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
/// Escapes what JSON requires, all control characters, and characters that show a reader something
/// that is not there.
fn escape(out: &mut String, text: &str, room: usize) {
    let end = out.len().saturating_add(room);
    // The longest text that leaves room for the mark.
    let last = end.saturating_sub(CUT.len());
    let mut safe = out.len();
    let mut rest = text;
    let mut before = '\0';
    while !rest.is_empty() {
        let plain = plain_length(rest.as_bytes());
        let begin = out.len();
        let (run, after) = rest.split_at(plain.min(end - begin + 1));
        out.push_str(run);
        rest = after;
        if !run.is_empty() {
            before = ' ';
            // A cut between plain characters is always valid.
            if begin <= last {
                safe = out.len().min(last);
            }
        }
        if out.len() <= end
            && let Some(c) = rest.chars().next()
            && !u8::try_from(c).is_ok_and(is_plain)
        {
            push_escaped(out, before, c);
            rest = &rest[c.len_utf8()..];
            before = c;
            if out.len() <= last {
                safe = out.len();
            }
        }
        if out.len() > end {
            out.truncate(safe);
            out.push_str(CUT);
            return;
        }
    }
}

fn push_escaped(out: &mut String, before: char, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_hidden(before, c) => {
            // JSON has four digits: some characters need two escapes.
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        c => out.push(c),
    }
}

/// How many characters need no escaping: by eight, then one by one.
fn plain_length(text: &[u8]) -> usize {
    let (words, _) = text.as_chunks::<8>();
    let whole = words
        .iter()
        .take_while(|word| is_plain_word(u64::from_ne_bytes(**word)))
        .count();
    let rest = text[8 * whole..].iter();
    8 * whole
        + rest
            .take_while(|byte| IS_PLAIN[usize::from(**byte)])
            .count()
}

/// Whether [`is_plain`] holds for all eight bytes.
fn is_plain_word(word: u64) -> bool {
    let all = |byte: u8| u64::from_ne_bytes([byte; 8]);
    // Has the high bit of the first byte that is such a character.
    let is = |byte| {
        let difference = word ^ all(byte);
        difference.wrapping_sub(all(1)) & !difference
    };
    let is_below_a_space = word.wrapping_sub(all(b' '));
    let is_other = word | is_below_a_space | is(b'"') | is(b'\\') | is(0x7f);
    is_other & all(0x80) == 0
}

static IS_PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = is_plain(byte);
        byte += 1;
    }
    table
};

const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')
}
