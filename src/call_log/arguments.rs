use super::{
    json::Writer,
    layer::{MASK, Redact},
};
use crate::call::Arguments;
use serde_json::{Map, Value};

/// How the arguments of a call are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentLogging {
    /// As they are, but with secrets masked: values under a key whose name speaks of one
    /// (`password`, `API-Key`, `github_token`, …), at any depth, and strings that begin like an
    /// `Authorization` header. A secret under another name is not seen.
    #[default]
    Masked,
    /// As they are. Whoever reads the log reads the secrets of who called.
    Raw,
    /// Only their shape: keys, types, and the lengths of strings and arrays.
    Shape,
    /// Not at all.
    Off,
}

/// Deeper values are cut: common parsers refuse a line that is deeper than 128.
const MAX_DEPTH: usize = 120;

/// What a key that holds a secret contains, without case and punctuation.
const SECRET_PARTS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "authorization",
    "credential",
    "cookie",
    "bearer",
];

/// And what it may be as a whole.
const SECRET_WORDS: &[&str] = &[
    "auth",
    "pwd",
    "pass",
    "pin",
    "otp",
    "jwt",
    "session",
    "signature",
];

impl ArgumentLogging {
    /// The arguments as JSON of about `limit` bytes at most.
    pub(super) fn render(
        self,
        arguments: Arguments<'_>,
        redact: &Redact,
        limit: usize,
    ) -> Option<String> {
        let mut render = Render {
            out: Writer::new(limit),
            logging: self,
            redact,
        };
        match (self, arguments) {
            (Self::Off, _) => return None,
            (_, Arguments::Object(object)) => render.object(object, 0),
            (_, Arguments::Value(value)) => render.value(value, 0),
        }
        Some(render.out.finish())
    }
}

struct Render<'a> {
    out: Writer,
    logging: ArgumentLogging,
    redact: &'a Redact,
}

impl Render<'_> {
    fn value(&mut self, value: &Value, depth: usize) {
        use ArgumentLogging::{Masked, Shape};
        match (value, self.logging) {
            (Value::Object(object), _) => self.object(object, depth),
            (Value::Array(items), Shape) => self.out.string(&format!("array({})", items.len())),
            (Value::Array(items), _) => self.array(items, depth),
            (Value::String(text), Shape) => self.out.string(&format!("string({})", text.len())),
            (Value::String(text), Masked) if is_authorization(text) => self.out.string(MASK),
            (Value::String(text), _) => self.out.string(&self.redact.text(text)),
            (Value::Number(_), Shape) => self.out.string("number"),
            (Value::Bool(_), Shape) => self.out.string("bool"),
            (other, _) => self.out.literal(&other.to_string()),
        }
    }

    fn object(&mut self, object: &Map<String, Value>, depth: usize) {
        self.out.begin('{');
        for (key, value) in object {
            if depth == MAX_DEPTH || !self.out.has_room() {
                self.out.cut_object();
                break;
            }
            self.out.key(key);
            if self.logging == ArgumentLogging::Masked && is_secret(key, value) {
                self.out.string(MASK);
            } else {
                self.value(value, depth + 1);
            }
        }
        self.out.end('}');
    }

    fn array(&mut self, items: &[Value], depth: usize) {
        self.out.begin('[');
        for item in items {
            if depth == MAX_DEPTH || !self.out.has_room() {
                self.out.cut_array();
                break;
            }
            self.out.item();
            self.value(item, depth + 1);
        }
        self.out.end(']');
    }
}

fn is_secret(key: &str, value: &Value) -> bool {
    let letters: String = key
        .chars()
        .filter(|c| c.is_alphanumeric())
        .take(256)
        .flat_map(char::to_lowercase)
        .collect();
    // A count of tokens is none, nor is a flag.
    let is_harmless = match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(_) => letters.ends_with("tokens"),
        _ => false,
    };
    !is_harmless
        && (SECRET_PARTS.iter().any(|part| letters.contains(part))
            || SECRET_WORDS.contains(&letters.as_str()))
}

fn is_authorization(text: &str) -> bool {
    ["bearer ", "basic "].iter().any(|scheme| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}
