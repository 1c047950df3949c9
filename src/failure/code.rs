use std::{borrow::Cow, fmt};

/// A server's own code for a failure, unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// A word, as in an envelope: `rate_limited`.
    Text(Cow<'static, str>),
    /// A number, as in a JSON-RPC error: `-32602`.
    Number(i64),
}

impl From<&'static str> for Code {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Code {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<i64> for Code {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<i32> for Code {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
        }
    }
}
