use super::Arguments;
use crate::failure::is_same_word;
use serde_json::{Map, Value};
use std::{fmt, sync::Arc};

/// The name of the key in `params._meta`.
pub const KEY_META: &str = "io.crates.mcp-resilience/idempotency-key";

/// The longest key, in bytes.
const LONGEST: usize = 255;

/// Other names of the key in `_meta`, compared without case, `_` and `-`: `idempotencyKey` of
/// SEP-3182, `idempotency-key` of the Universal Commerce Protocol, and `idempotency_key`.
const OTHER_NAME: &str = "idempotencykey";

/// Identifies one call across all its attempts: 1 to 255 visible ASCII characters.
///
/// See [`idempotency`](crate::idempotency) for what it does. Cloning does not allocate.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(Arc<str>);

/// Why a text is not an [`IdempotencyKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidKey {
    /// It is empty.
    #[error("it is empty: give 1 to 255 visible ASCII characters")]
    Empty,
    /// It has more than 255 bytes.
    #[error("it has {0} bytes: give at most 255")]
    TooLong(usize),
    /// It has a blank, a control character, or one beyond ASCII.
    #[error("it has characters other than visible ASCII")]
    NotVisibleAscii,
    /// It is a number, an object, or another value of JSON.
    #[error("it is not a string")]
    NotAString,
}

impl IdempotencyKey {
    /// Checks a key.
    ///
    /// ```
    /// use mcp_resilience::call::{IdempotencyKey, InvalidKey};
    ///
    /// let key = IdempotencyKey::new("order-123")?;
    /// assert_eq!(key.as_str(), "order-123");
    /// assert_eq!(IdempotencyKey::new(""), Err(InvalidKey::Empty));
    /// assert_eq!(IdempotencyKey::new("order 123"), Err(InvalidKey::NotVisibleAscii));
    /// # Ok::<_, InvalidKey>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it is empty, has more than 255 bytes, or has a character that is not visible ASCII.
    pub fn new(key: impl AsRef<str>) -> Result<Self, InvalidKey> {
        let key = key.as_ref();
        if key.is_empty() {
            return Err(InvalidKey::Empty);
        }
        if key.len() > LONGEST {
            return Err(InvalidKey::TooLong(key.len()));
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidKey::NotVisibleAscii);
        }
        Ok(Self(key.into()))
    }

    /// A random key of 128 bits, as 32 hexadecimal digits.
    #[must_use]
    pub fn random() -> Self {
        let random: u128 = rand::random();
        Self(format!("{random:032x}").into())
    }

    /// The key of a later round of the call, for a server that needs another key for each round.
    #[cfg(feature = "rmcp-client")]
    pub(crate) fn of_round(&self, round: usize) -> Self {
        use sha2::{Digest, Sha256};
        let mut hash = Sha256::new();
        hash.update((round as u64).to_be_bytes());
        hash.update(self.as_str());
        let hash = hash.finalize();
        Self(
            hash[..16]
                .iter()
                .fold(String::new(), |key, byte| key + &format!("{byte:02x}"))
                .into(),
        )
    }

    /// The key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key in a request. It is looked for under [`KEY_META`] in `_meta`, then under the other
    /// names there, then as `idempotency_key` in an argument `meta`. `None` if there is none.
    #[must_use]
    pub fn of_request(
        meta: Option<&Map<String, Value>>,
        arguments: Option<Arguments<'_>>,
    ) -> Option<Result<Self, InvalidKey>> {
        let found = meta.and_then(|meta| meta.get(KEY_META).or_else(|| named(meta)));
        let found = found.or_else(|| named(member(arguments?, "meta")?.as_object()?));
        Some(Self::of_value(found?))
    }

    /// The key in an argument. Dots in the name lead into objects.
    pub(crate) fn of_argument(
        arguments: Arguments<'_>,
        path: &str,
    ) -> Option<Result<Self, InvalidKey>> {
        let mut names = path.split('.');
        let first = member(arguments, names.next()?)?;
        let found = names.try_fold(first, |value, name| value.get(name))?;
        (!found.is_null()).then(|| Self::of_value(found))
    }

    /// The key in an HTTP header, with or without quotes.
    #[cfg(feature = "rmcp")]
    pub(crate) fn of_header(header: &[u8]) -> Result<Self, InvalidKey> {
        let text = std::str::from_utf8(header).map_err(|_not_ascii| InvalidKey::NotVisibleAscii)?;
        let text = text.trim();
        let quoted = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        Self::new(quoted.unwrap_or(text))
    }

    fn of_value(value: &Value) -> Result<Self, InvalidKey> {
        Self::new(value.as_str().ok_or(InvalidKey::NotAString)?)
    }
}

fn named(members: &Map<String, Value>) -> Option<&Value> {
    let mut members = members.iter();
    let found = members.find(|(name, _)| is_same_word(OTHER_NAME, name));
    found.map(|(_, value)| value)
}

fn member<'a>(arguments: Arguments<'a>, name: &str) -> Option<&'a Value> {
    match arguments {
        Arguments::Object(members) => members.get(name),
        Arguments::Value(value) => value.get(name),
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A key gives access to the answer, so a log shows only its length.
impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey({} bytes)", self.0.len())
    }
}

impl std::str::FromStr for IdempotencyKey {
    type Err = InvalidKey;

    fn from_str(key: &str) -> Result<Self, InvalidKey> {
        Self::new(key)
    }
}
