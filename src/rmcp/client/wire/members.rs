use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;
use std::fmt;

/// The members of an object in their order, also repeated ones.
#[derive(Debug)]
pub(super) struct Members(Vec<(String, Value)>);

impl Members {
    /// The members of that name that are not null.
    fn all(&self, name: &str) -> impl Iterator<Item = &Value> {
        let named = self.0.iter().filter(move |(key, _)| key == name);
        named
            .map(|(_, value)| value)
            .filter(|value| !value.is_null())
    }

    /// How many values are in them, at any depth.
    pub(super) fn values(&self) -> usize {
        self.0.iter().map(|(_, value)| count(value)).sum()
    }

    /// Whether rmcp reads the same in it: the version is right, and no member is null or repeated.
    pub(super) fn is_plain(&self) -> bool {
        let mut version = self.all("jsonrpc");
        let is_known = |name: &str| matches!(name, "jsonrpc" | "id" | "result");
        self.0.len() == 3
            && self.0.iter().all(|(name, _)| is_known(name))
            && version.next().is_some_and(|version| version == "2.0")
    }

    /// The member of that name that is not null; else one whose name differs in case.
    ///
    /// # Errors
    ///
    /// If there are two that differ.
    pub(super) fn only(&mut self, name: &str) -> Result<Option<Value>, String> {
        let mut only = None;
        let is_there = self.all(name).next().is_some();
        let is_it = |key: &str| key == name || !is_there && key.eq_ignore_ascii_case(name);
        for (_, value) in self.0.iter_mut().filter(|(key, _)| is_it(key)) {
            let value = value.take();
            match &only {
                _ if value.is_null() => {}
                Some(other) if *other != value => {
                    return Err(format!("it has the member `{name}` twice"));
                }
                _ => only = Some(value),
            }
        }
        Ok(only)
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(All)
    }
}

struct All;

impl<'de> Visitor<'de> for All {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Vec::with_capacity(4);
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}
