use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Number, Value};
use std::fmt;

/// The most values that are read in one message, so that the cost of a line is a small multiple of
/// its length.
pub(super) const VALUES: usize = 1024 * 1024;

/// The longest text that may be an id, in bytes.
const ID: usize = 256;

/// The shape of an object, found without keeping anything but its ids.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The members that are not null.
    names: Vec<Name>,
    pub(super) ids: Vec<Value>,
    /// How many values are in it, at any depth, also those of repeated members.
    pub(super) values: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl Outline {
    /// Reads the object at the beginning of a text, and returns its length too.
    ///
    /// # Errors
    ///
    /// If it is not JSON, or has too many values.
    pub(super) fn read(text: &str) -> serde_json::Result<(Self, usize)> {
        let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Self>();
        match objects.next() {
            Some(outline) => Ok((outline?, objects.byte_offset())),
            None => Err(Error::custom("there is no object")),
        }
    }

    fn has(&self, name: Name) -> bool {
        self.names.contains(&name)
    }

    pub(super) fn has_version(&self) -> bool {
        self.has(Name::Version)
    }

    /// Whether it has an id of any type; `ids` has the valid ones.
    pub(super) fn has_id(&self) -> bool {
        self.has(Name::Id)
    }

    /// Whether it is a request or a notification, and not a line of a log with such a member.
    pub(super) fn is_servers(&self) -> bool {
        self.has(Name::Method)
            && !self.has(Name::Result)
            && !self.has(Name::Error)
            && (self.has(Name::Version) || !self.has(Name::Other))
    }

    /// Whether it is an answer. Among other text, it must not look like a line of a log.
    pub(super) fn is_answer(&self, is_alone: bool) -> bool {
        let is_said = self.has(Name::Result) || self.has(Name::Error);
        if self.has(Name::Version) {
            return is_said || !self.has(Name::Method);
        }
        let is_known = |name: &Name| matches!(name, Name::Id | Name::Result | Name::Error);
        self.names.iter().all(is_known) || is_alone && is_said
    }
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfObject)
    }
}

struct OfObject;

impl<'de> Visitor<'de> for OfObject {
    type Value = Outline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline, A::Error> {
        let mut outline = Outline::default();
        while let Some(name) = map.next_key()? {
            let shape = map.next_value_seed(Probe {
                values: &mut outline.values,
                wants_id: name == Name::Id && outline.ids.len() < 4,
            })?;
            if matches!(shape, Shape::Null) {
                continue;
            }
            if !outline.has(name) {
                outline.names.push(name);
            }
            if let Shape::Id(id) = shape {
                outline.ids.push(id);
            }
        }
        Ok(outline)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(OfName)
    }
}

struct OfName;

impl Visitor<'_> for OfName {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        const NAMES: [(&str, Name); 6] = [
            ("jsonrpc", Name::Version),
            ("id", Name::Id),
            ("method", Name::Method),
            ("params", Name::Params),
            ("result", Name::Result),
            ("error", Name::Error),
        ];
        let mut names = NAMES.into_iter();
        let known = names.find(|(known, _)| name.eq_ignore_ascii_case(known));
        Ok(known.map_or(Name::Other, |(_, name)| name))
    }
}

enum Shape {
    Null,
    Id(Value),
    Other,
}

/// Counts the values in a value.
struct Probe<'a> {
    values: &'a mut usize,
    wants_id: bool,
}

impl Probe<'_> {
    fn count<E: Error>(&mut self) -> Result<(), E> {
        *self.values += 1;
        if *self.values > VALUES {
            return Err(E::custom(format_args!("it has more than {VALUES} values")));
        }
        Ok(())
    }

    fn id<E: Error>(mut self, id: impl FnOnce() -> Value) -> Result<Shape, E> {
        self.count()?;
        Ok(if self.wants_id {
            Shape::Id(id())
        } else {
            Shape::Other
        })
    }

    fn inner(&mut self) -> Probe<'_> {
        Probe {
            values: self.values,
            wants_id: self.wants_id,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Probe<'_> {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Probe<'_> {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E: Error>(mut self) -> Result<Shape, E> {
        self.count()?;
        Ok(Shape::Null)
    }

    fn visit_bool<E: Error>(mut self, _: bool) -> Result<Shape, E> {
        self.count()?;
        Ok(Shape::Other)
    }

    fn visit_i64<E: Error>(self, id: i64) -> Result<Shape, E> {
        self.id(|| id.into())
    }

    fn visit_u64<E: Error>(self, id: u64) -> Result<Shape, E> {
        self.id(|| id.into())
    }

    fn visit_f64<E: Error>(self, id: f64) -> Result<Shape, E> {
        self.id(|| Number::from_f64(id).into())
    }

    fn visit_str<E: Error>(mut self, id: &str) -> Result<Shape, E> {
        if id.len() > ID {
            self.count()?;
            return Ok(Shape::Other);
        }
        self.id(|| id.into())
    }

    /// A list of one id is that id.
    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Shape, A::Error> {
        self.count()?;
        let mut only = None;
        while let Some(item) = items.next_element_seed(self.inner())? {
            self.wants_id = false;
            only = Some(if only.is_none() { item } else { Shape::Other });
        }
        Ok(kept(only))
    }

    /// So is an object with nothing else in it.
    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Shape, A::Error> {
        self.count()?;
        let mut only = None;
        while members.next_key::<IgnoredAny>()?.is_some() {
            let member = members.next_value_seed(self.inner())?;
            self.wants_id = false;
            only = Some(if only.is_none() { member } else { Shape::Other });
        }
        Ok(kept(only))
    }
}

fn kept(only: Option<Shape>) -> Shape {
    match only {
        Some(id @ Shape::Id(_)) => id,
        _ => Shape::Other,
    }
}
