//! JSON as it is in a text, including parts that no `Value` can hold, such as `1e400` or half of a
//! surrogate pair.

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Error};

/// The value that a text begins with, and the rest.
///
/// # Errors
///
/// If it is not JSON.
pub(super) fn value(text: &str) -> Result<(&str, &str), Error> {
    let text = text.trim_start();
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Err(error)) => Err(error),
        _ => Ok(text.split_at(values.byte_offset())),
    }
}

/// The members of an object in their order. A text that is not an object has none.
pub(super) fn members(text: &str) -> Members<'_> {
    let mut rest = text.trim_start().strip_prefix('{').unwrap_or_default();
    let mut members = Vec::new();
    while let Ok((name, after)) = value(rest) {
        let Some(after) = after.trim_start().strip_prefix(':') else {
            break;
        };
        let Ok((value, after)) = value(after) else {
            break;
        };
        let name = serde_json::from_str(name).unwrap_or_else(|_| name.to_owned());
        members.push((name, value));
        rest = after.trim_start().strip_prefix(',').unwrap_or_default();
    }
    Members(members)
}

pub(super) struct Members<'a>(Vec<(String, &'a str)>);

/// A member is there twice, with different values.
pub(super) struct Twice;

impl<'a> Members<'a> {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }

    /// The first of that name, null or not.
    pub(super) fn first(&self, name: &str) -> Option<&'a str> {
        self.iter()
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    /// The one of that name that is not null.
    pub(super) fn only(&self, name: &str) -> Result<Option<&'a str>, Twice> {
        let named = self.iter().filter(|(key, _)| *key == name);
        let mut named = named
            .map(|(_, value)| value)
            .filter(|value| *value != "null");
        let only = named.next();
        match only {
            Some(only) if named.any(|other| other != only) => Err(Twice),
            only => Ok(only),
        }
    }
}

/// The kind of JSON value in a text.
pub(super) fn kind(value: &str) -> &'static str {
    match value.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_as_they_are_written() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        for written in [
            "1e400",
            "1.0",
            "\"\\ud800\"",
            "null",
            "{ \"a\" : [ ] }",
            &deep,
        ] {
            let text = format!(" {{ \"\\u0069d\" : {written} , \"x\":1}} rest");
            let (object, rest) = value(&text).unwrap();
            assert_eq!(rest, " rest");
            let members = members(object);
            assert_eq!(members.first("id"), Some(written));
            assert_eq!(members.iter().count(), 2);
        }
    }

    #[test]
    fn what_is_no_json_is_no_value() {
        for text in ["{", "[1,]", "{\"a\":NaN}", "\"\u{7}\"", "hello"] {
            assert!(value(text).is_err(), "{text}");
        }
    }
}
