//! JSON as it is in a text, including parts that no `Value` can hold, such as `1e400` or half of a
//! surrogate pair.

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Error};

/// Whether JSON allows the character between its parts. Other blanks end no part, and are no JSON.
pub(in crate::rmcp) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// The value that a text begins with, and the rest.
///
/// # Errors
///
/// If it is not JSON.
pub(in crate::rmcp) fn value(text: &str) -> Result<(&str, &str), Error> {
    let text = text.trim_start_matches(is_space);
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Err(error)) => Err(error),
        _ => Ok(text.split_at(values.byte_offset())),
    }
}

/// The members of the object that a text begins with, in their order, and its length. `None` if it is
/// not JSON, or has more members than that.
pub(in crate::rmcp) fn object(text: &str, most: usize) -> Option<(Members<'_>, usize)> {
    let mut members = Vec::new();
    let mut rest = text.strip_prefix('{')?.trim_start_matches(is_space);
    while !(members.is_empty() && rest.starts_with('}')) {
        if members.len() >= most {
            return None;
        }
        let (name, after) = value(rest).ok().filter(|(name, _)| name.starts_with('"'))?;
        let after = after.trim_start_matches(is_space).strip_prefix(':')?;
        let (written, after) = value(after.trim_start_matches(is_space)).ok()?;
        let name = serde_json::from_str(name).unwrap_or_else(|_| name.to_owned());
        members.push((name, written));
        rest = after.trim_start_matches(is_space);
        if rest.starts_with('}') {
            break;
        }
        rest = rest.strip_prefix(',')?.trim_start_matches(is_space);
    }
    let length = text.len() - rest.len() + 1;
    Some((Members(members), length))
}

/// The members of an object. A text that is not an object has none.
#[cfg(feature = "rmcp")]
pub(in crate::rmcp) fn members(text: &str) -> Members<'_> {
    object(text.trim_start_matches(is_space), usize::MAX)
        .map_or_else(|| Members(Vec::new()), |(members, _)| members)
}

pub(in crate::rmcp) struct Members<'a>(Vec<(String, &'a str)>);

#[cfg(feature = "rmcp")]
/// A member is there twice, with different values.
pub(in crate::rmcp) struct Twice;

impl<'a> Members<'a> {
    pub(in crate::rmcp) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }

    /// The first of that name, null or not.
    #[cfg(feature = "rmcp")]
    pub(in crate::rmcp) fn first(&self, name: &str) -> Option<&'a str> {
        self.iter()
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    /// The one of that name that is not null.
    #[cfg(feature = "rmcp")]
    pub(in crate::rmcp) fn only(&self, name: &str) -> Result<Option<&'a str>, Twice> {
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

#[cfg(feature = "rmcp")]
/// The kind of JSON value in a text.
pub(in crate::rmcp) fn kind(value: &str) -> &'static str {
    match value.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

#[cfg(all(test, feature = "rmcp"))]
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
