use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};
use std::fmt;

/// A JSON text, as far as its outermost shape is looked at.
#[derive(Debug)]
pub(super) enum Piece {
    Object(Members),
    List(Vec<Self>),
    /// A text, a number, a flag or null.
    Scalar,
}

/// The members of an object in their order, also those that came twice.
#[derive(Debug)]
pub(super) struct Members(Vec<(String, Value)>);

impl Members {
    /// Whether there is one of that name that is not null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// Those of that name that are not null.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &Value> {
        let named = self.0.iter().filter(move |(key, _)| key == name);
        named
            .map(|(_, value)| value)
            .filter(|value| !value.is_null())
    }

    /// Whether rmcp would read the same in it: the version is right, and nothing is null or there twice.
    pub(super) fn is_plain(&self) -> bool {
        let mut version = self.all("jsonrpc");
        let is_known = |name: &str| matches!(name, "jsonrpc" | "id" | "result");
        self.0.len() == 3
            && self.0.iter().all(|(name, _)| is_known(name))
            && version.next().is_some_and(|version| version == "2.0")
    }

    /// The one of that name that is not null.
    ///
    /// # Errors
    ///
    /// When there are two that differ.
    pub(super) fn only(&mut self, name: &str) -> Result<Option<Value>, String> {
        let mut only = None;
        for (_, value) in self.0.iter_mut().filter(|(key, _)| key == name) {
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

    /// Whether this is a message, and not a line of a log that is JSON too.
    pub(super) fn is_message(&self) -> bool {
        let is_named = |name: &String| matches!(name.as_str(), "jsonrpc" | "result" | "error");
        let mut names = self.0.iter().map(|(name, _)| name);
        names.clone().any(is_named) || names.all(|name| name == "id")
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0.into_iter().collect::<Map<_, _>>())
    }
}

impl<'de> Deserialize<'de> for Piece {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyPiece)
    }
}

struct AnyPiece;

impl<'de> Visitor<'de> for AnyPiece {
    type Value = Piece;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Piece, A::Error> {
        let mut members = Vec::with_capacity(4);
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Piece::Object(Members(members)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Piece, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Piece::List(items))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Piece, E> {
        Ok(Piece::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Piece, E> {
        Ok(Piece::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Piece, E> {
        Ok(Piece::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Piece, E> {
        Ok(Piece::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Piece, E> {
        Ok(Piece::Scalar)
    }

    fn visit_unit<E>(self) -> Result<Piece, E> {
        Ok(Piece::Scalar)
    }
}
