use crate::{json, rmcp::wire::raw};
use serde_json::Value;

/// The most values that are read in one message, so that the cost of a line is a small multiple of
/// its length.
const VALUES: usize = 1024 * 1024;

/// The same for the members of a message itself, which are kept all together. JSON-RPC knows six.
const MEMBERS: usize = 1024;

/// The longest text that may be an id, in bytes.
const ID: usize = 256;

/// How many ids of one object are examined.
const IDS: usize = 4;

/// An object, whose members are read only if they are needed. Names are compared ignoring case, and
/// a null member is absent.
pub(super) struct Outline<'a>(raw::Members<'a>);

impl<'a> Outline<'a> {
    /// Finds the object at the beginning of a text, and its length.
    ///
    /// # Errors
    ///
    /// If it is not JSON, or has too many members.
    pub(super) fn read(text: &'a str) -> Result<(Self, usize), String> {
        match raw::object(text, MEMBERS) {
            Some((members, length)) => Ok((Self(members), length)),
            None => Err(match raw::value(text) {
                Ok(_) => format!("it has more than {MEMBERS} members"),
                Err(error) => format!("it is not json: {error}"),
            }),
        }
    }

    fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().filter(|(_, value)| *value != "null")
    }

    fn has(&self, name: &str) -> bool {
        self.members()
            .any(|(key, _)| key.eq_ignore_ascii_case(name))
    }

    fn has_only(&self, names: &[&str]) -> bool {
        let is_one = |key: &str| names.iter().any(|name| key.eq_ignore_ascii_case(name));
        self.members().all(|(key, _)| is_one(key))
    }

    pub(super) fn has_version(&self) -> bool {
        self.has("jsonrpc")
    }

    /// Whether it has an id of any type; `ids` has the valid ones.
    pub(super) fn has_id(&self) -> bool {
        self.has("id")
    }

    /// Whether it is a request or a notification, and not a line of a log with such a member.
    pub(super) fn is_servers(&self) -> bool {
        const KNOWN: [&str; 3] = ["id", "method", "params"];
        self.has("method")
            && !self.has("result")
            && !self.has("error")
            && (self.has_version() || self.has_only(&KNOWN))
    }

    /// Whether it is an answer. Among other text, it must not look like a line of a log.
    pub(super) fn is_answer(&self, is_alone: bool) -> bool {
        let is_said = self.has("result") || self.has("error");
        if self.has_version() {
            return is_said || !self.has("method");
        }
        self.has_only(&["id", "result", "error"]) || is_alone && is_said
    }

    /// The ids that a request may have. One that is alone in a list or an object is that id.
    pub(super) fn ids(&self) -> impl Iterator<Item = Value> {
        let written = self
            .members()
            .filter(|(key, _)| key.eq_ignore_ascii_case("id"));
        written.take(IDS).filter_map(|(_, written)| id(written))
    }

    /// The member of that name; one whose name differs in case counts only without it.
    ///
    /// # Errors
    ///
    /// If there are two that differ, or it cannot be read.
    pub(super) fn only(&self, name: &str) -> Result<Option<Member<'a>>, String> {
        let is_there = self.members().any(|(key, _)| key == name);
        let is_it = |key: &str| key == name || !is_there && key.eq_ignore_ascii_case(name);
        let mut only: Option<Member<'_>> = None;
        for (_, written) in self.members().filter(|(key, _)| is_it(key)) {
            let member = Member::read(written)?;
            match &only {
                Some(other) if other.value != member.value => {
                    return Err(format!("it has the member `{name}` twice"));
                }
                _ => only = Some(member),
            }
        }
        Ok(only)
    }

    /// Whether rmcp reads it: the version is right, and no member is null, unknown or repeated.
    pub(super) fn is_plain(&self) -> bool {
        let mut names: Vec<_> = self.0.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        let mut version = self.0.iter().filter(|(name, _)| *name == "jsonrpc");
        names == ["id", "jsonrpc", "result"]
            && version
                .next()
                .is_some_and(|(_, version)| version == "\"2.0\"")
    }
}

/// A value in a message.
#[derive(Debug)]
pub(super) struct Member<'a> {
    pub(super) value: Value,
    written: &'a str,
    /// A number was too large.
    is_mended: bool,
}

impl<'a> Member<'a> {
    /// Reads a text of JSON.
    ///
    /// # Errors
    ///
    /// If it has too many values, or is too deep.
    pub(super) fn read(written: &'a str) -> Result<Self, String> {
        // A text has no more parts than bytes.
        if written.len() > VALUES && parts_in(written) > VALUES {
            return Err(format!("it has more than {VALUES} values"));
        }
        let (value, is_mended) = match serde_json::from_str(written) {
            Ok(value) => (value, false),
            Err(_) => match json::read(written) {
                Ok(value) => (value, true),
                Err(error) => return Err(format!("it is not json: {error}")),
            },
        };
        if is_mended {
            tracing::warn!("a number that is too big was read as a smaller one");
        }
        Ok(Self {
            value,
            written,
            is_mended,
        })
    }

    /// Whether it is the value of its text: no number was too large, and no member in it came twice.
    pub(super) fn is_exact(&self) -> bool {
        !self.is_mended && parts_in(self.written) == parts_of(&self.value)
    }
}

/// How many lists and objects are in a text, and how many further values in them.
fn parts_in(written: &str) -> usize {
    let bytes = written.as_bytes();
    let (mut parts, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => json::end_of_string(bytes, at + 1),
            _ => at + 1,
        };
        parts += usize::from(matches!(byte, b',' | b'[' | b'{'));
    }
    parts
}

/// The same for a value.
fn parts_of(value: &Value) -> usize {
    let (length, inner): (_, usize) = match value {
        Value::Array(items) => (items.len(), items.iter().map(parts_of).sum()),
        Value::Object(members) => (members.len(), members.values().map(parts_of).sum()),
        _ => return 0,
    };
    length.max(1) + inner
}

fn id(written: &str) -> Option<Value> {
    let mut id = (written.len() <= ID).then(|| serde_json::from_str(written).ok())??;
    loop {
        id = match id {
            Value::Array(mut items) if items.len() == 1 => items.pop()?,
            Value::Object(members) if members.len() == 1 => members.into_iter().next()?.1,
            Value::Number(_) | Value::String(_) => return Some(id),
            _ => return None,
        }
    }
}
