//! The calls in a line that is not JSON, as far as the line can be read.
//!
//! What is read of a call is what names it. Other members are skipped, so they may hold what no
//! [`Value`] can, such as `1e400`.

use super::came::Came;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// The calls before the first error in the line, and the one that has the error. If the error is in an
/// id, those after it too, without their ids.
pub(super) fn calls(line: &[u8]) -> Vec<Came> {
    let line = &line[begin(line)..];
    let mut calls = calls_with(line, &["id", "method"]);
    let rest = calls_with(line, &["method"]);
    calls.extend(rest.into_iter().skip(calls.len()));
    calls
}

/// The place of the first message, or of the batch that begins with it. Other text may be before it, such
/// as another byte order mark, or a date in brackets.
fn begin(line: &[u8]) -> usize {
    let message = line.iter().position(|byte| *byte == b'{');
    let message = message.unwrap_or(line.len());
    let before = line[..message].trim_ascii_end();
    match before.split_last() {
        Some((b'[', before)) => before.len(),
        _ => message,
    }
}

fn calls_with(line: &[u8], names: &[&str]) -> Vec<Came> {
    let mut found = Vec::new();
    let mut values = serde_json::Deserializer::from_slice(line);
    loop {
        let messages = Messages {
            names,
            found: &mut found,
        };
        // A second message on the line is an error for tower-mcp.
        if messages.deserialize(&mut values).is_err() || values.end().is_ok() {
            break;
        }
    }
    let calls = found.into_iter().map(Value::Object).filter_map(|read| {
        let text = || read.to_string().into_bytes();
        Came::of(&read, text)
    });
    calls.collect()
}

/// Adds a message, or those of a batch, each with what comes before its error.
struct Messages<'a> {
    names: &'a [&'a str],
    found: &'a mut Vec<Map<String, Value>>,
}

impl<'de> DeserializeSeed<'de> for Messages<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message or a batch")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        let (mut message, mut params) = (Map::new(), Map::new());
        let end = read(members, self.names, &mut message, Some(&mut params));
        message.insert("params".to_owned(), Value::Object(params));
        self.found.push(message);
        end
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut batch: A) -> Result<(), A::Error> {
        let Self { names, found } = self;
        while batch
            .next_element_seed(Messages { names, found })?
            .is_some()
        {}
        Ok(())
    }
}

struct Params<'a>(&'a mut Map<String, Value>);

impl<'de> DeserializeSeed<'de> for Params<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Params<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        read(members, &["name", "uri"], self.0, None)
    }
}

/// Reads the members with these names into a map, until the end or the first error.
fn read<'de, A: MapAccess<'de>>(
    mut members: A,
    names: &[&str],
    found: &mut Map<String, Value>,
    mut params: Option<&mut Map<String, Value>>,
) -> Result<(), A::Error> {
    while let Some(name) = members.next_key::<String>()? {
        if names.contains(&&*name) {
            found.insert(name, members.next_value()?);
        } else if let Some(params) = &mut params
            && name == "params"
        {
            members.next_value_seed(Params(params))?;
        } else {
            members.next_value::<IgnoredAny>()?;
        }
    }
    Ok(())
}
