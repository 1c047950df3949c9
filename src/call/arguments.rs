use serde_json::{Map, Value};
use std::fmt;

/// The arguments of a call, borrowed from the request.
///
/// MCP says that they are an object. Another [`Value`] is logged as it is. `Debug` shows no value, since
/// arguments may hold secrets.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Arguments<'a> {
    /// An object, as the SDKs hold it.
    Object(&'a Map<String, Value>),
    /// Any JSON value.
    Value(&'a Value),
}

impl<'a> From<&'a Map<String, Value>> for Arguments<'a> {
    fn from(object: &'a Map<String, Value>) -> Self {
        Self::Object(object)
    }
}

impl<'a> From<&'a Value> for Arguments<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Object(object) => Self::Object(object),
            value => Self::Value(value),
        }
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(object) => write!(f, "Object({} members)", object.len()),
            Self::Value(_) => f.write_str("Value(..)"),
        }
    }
}
