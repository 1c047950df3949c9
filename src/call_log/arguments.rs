use super::{
    json::Writer,
    secret_members::{self, Found},
};
use crate::{
    call::Arguments,
    text::{self, MASK},
};
use arrayvec::ArrayString;
use serde_json::{Map, Number, Value};
use std::{borrow::Cow, fmt::Write as _};

/// How the arguments of a call are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentLogging {
    /// With secrets masked, as the [module page](super#secrets) says: values under a key that names a
    /// secret, at any depth, and strings with the shape of a secret. The default.
    #[default]
    Masked,
    /// As they are. Every reader of the log sees the secrets of the caller.
    Raw,
    /// Only their shape: keys, types, and the lengths of strings and arrays.
    Shape,
    /// Not logged.
    Off,
}

/// Deeper values are cut: common parsers refuse a line with more than 128 levels.
const MAX_DEPTH: usize = 120;

impl ArgumentLogging {
    /// Finds the values that have to be masked in other texts too.
    pub(super) fn look(self, arguments: Arguments<'_>) -> Found {
        match self {
            // They are on the line anyway.
            Self::Raw => Found::default(),
            Self::Masked | Self::Shape | Self::Off => secret_members::collect(arguments),
        }
    }

    /// The arguments as JSON of about `limit` bytes at most, after they were read for secrets.
    pub(super) fn render(
        self,
        arguments: Arguments<'_>,
        found: &Found,
        limit: usize,
    ) -> Option<String> {
        let mut render = Render {
            out: Writer::with_capacity(limit, 256),
            logging: self,
            reading: if self != Self::Raw && !found.is_nothing {
                Reading::Secrets
            } else if text::passes_as_it_is() {
                Reading::Nothing
            } else {
                Reading::Values
            },
        };
        match (self, arguments) {
            (Self::Off, _) => return None,
            (_, Arguments::Object(object)) => render.object(object, 0),
            (_, Arguments::Value(value)) => render.value(value, 0),
        }
        Some(render.out.finish())
    }
}

struct Render {
    out: Writer,
    logging: ArgumentLogging,
    reading: Reading,
}

/// What keys and values are read for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Secrets by their names and shapes, and all below.
    Secrets,
    /// The values that are masked already, and by the user's hook.
    Values,
    Nothing,
}

impl Render {
    fn value(&mut self, value: &Value, depth: usize) {
        use ArgumentLogging::Shape;
        match (value, self.logging) {
            (Value::Object(object), _) => self.object(object, depth),
            (Value::Array(items), Shape) => self.out.string(&format!("array({})", items.len())),
            (Value::Array(items), _) => self.array(items, depth),
            (Value::String(text), Shape) => self.out.string(&format!("string({})", text.len())),
            (Value::String(text), _) => self.out.string(&self.read(text)),
            (Value::Number(_), Shape) => self.out.string("number"),
            (Value::Number(number), _) => self.number(number),
            (Value::Bool(_), Shape) => self.out.string("bool"),
            (Value::Bool(true), _) => self.out.literal("true"),
            (Value::Bool(false), _) => self.out.literal("false"),
            (Value::Null, _) => self.out.literal("null"),
        }
    }

    fn number(&mut self, number: &Number) {
        let mut buffer = itoa::Buffer::new();
        let (mut short, long);
        let text: &str = match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => buffer.format(number),
            (None, Some(number)) => buffer.format(number),
            (None, None) => {
                short = ArrayString::<32>::new();
                // A feature of serde_json has numbers of any length.
                if write!(short, "{number}").is_ok() {
                    &short
                } else {
                    long = number.to_string();
                    &long
                }
            }
        };
        if self.reading != Reading::Nothing
            && self.logging == ArgumentLogging::Masked
            && text::is_secret_number(text)
        {
            self.out.string(MASK);
        } else {
            self.out.literal(text);
        }
    }

    fn object(&mut self, object: &Map<String, Value>, depth: usize) {
        self.out.begin('{');
        for (key, value) in object {
            if depth == MAX_DEPTH || !self.out.has_room() {
                self.out.cut_object();
                break;
            }
            self.out.key(&self.read(key));
            if self.masks() && secret_members::is_secret(object, key, value) {
                self.out.string(MASK);
            } else {
                self.value(value, depth + 1);
            }
        }
        self.out.end('}');
    }

    fn array(&mut self, items: &[Value], depth: usize) {
        self.out.begin('[');
        for (at, item) in items.iter().enumerate() {
            if depth == MAX_DEPTH || !self.out.has_room() {
                self.out.cut_array();
                break;
            }
            self.out.item();
            if self.masks() && secret_members::is_secret_item(items, at) {
                self.out.string(MASK);
            } else {
                self.value(item, depth + 1);
            }
        }
        self.out.end(']');
    }

    fn masks(&self) -> bool {
        self.reading == Reading::Secrets && self.logging == ArgumentLogging::Masked
    }

    fn read<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.reading {
            Reading::Secrets => text::redacted(text),
            Reading::Values => text::hooked(text),
            // The writer cuts it.
            Reading::Nothing => Cow::Borrowed(text),
        }
    }
}
