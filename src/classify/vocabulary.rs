use super::{lookup::letters, named::Named};
use crate::failure::{Class, Code, Delivery};
use std::borrow::Cow;

type Name = Cow<'static, str>;

/// Names that a server uses for its codes, its fields and its waits, if only the names are new.
///
/// They are asked before the built-in names, at all places where those are read: in structured
/// content, in JSON in a text, in the `data` of a JSON-RPC error, and under `_meta`. The same rules
/// hold for them: a name counts only at its place, `retryable: false` wins, and a wait permits no
/// repeat. Codes and names of fields are compared without case, `_`, `-` and blanks. Texts and the
/// names of envelopes are compared letter by letter.
///
/// Two meanings are dangerous: that the call **did not run**, and that a repeat is safe. Such a call
/// is repeated even if its tool may not run twice, and even if the code is in JSON in a text. So
/// they have methods of their own: [`refusal_code`](Self::refusal_code),
/// [`refusal_begins`](Self::refusal_begins) and [`repeatable_code`](Self::repeatable_code).
///
/// # Example
///
/// A server that answers `{"fault": {"reason": "E_BUSY", "cooldown": 20}}`:
///
/// ```
/// use mcp_resilience::{
///     Class, Delivery,
///     classify::{ClassifyLayer, Vocabulary},
///     failure::RpcError,
/// };
/// use serde_json::json;
/// use std::time::Duration;
///
/// let words = Vocabulary::new()
///     .envelope_in("fault")
///     .code_field("reason")
///     .code("E_BUSY", Class::AtCapacity)
///     // By its documentation it counts calls before it runs them.
///     .refusal_code("E_QUOTA", Class::RateLimited)
///     .wait_seconds("cooldown")
///     .text_begins("Quota reached: ", Class::RateLimited);
/// let layer = ClassifyLayer::new().vocabulary(words);
///
/// // The layer asks them of every failed call; this is the same for one error.
/// let said = |reason| json!({"fault": {"reason": reason, "cooldown": 20}});
/// let name = |data| layer.classify(RpcError::new(-32000, "try later", Some(data)));
///
/// let busy = name(said("E_BUSY"));
/// assert_eq!((busy.class(), busy.delivery()), (Class::AtCapacity, Delivery::Unknown));
/// assert_eq!(busy.retry_after(), Some(Duration::from_secs(20)));
///
/// let quota = name(said("e-quota"));
/// assert_eq!((quota.class(), quota.delivery()), (Class::RateLimited, Delivery::Refused));
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a vocabulary does nothing until a layer gets it"]
pub struct Vocabulary {
    pub(super) codes: Vec<(Code, Meaning)>,
    pub(super) texts: Vec<(Name, Meaning)>,
    pub(super) code_fields: Vec<String>,
    pub(super) seconds: Vec<String>,
    pub(super) milliseconds: Vec<String>,
    pub(super) instants: Vec<String>,
    pub(super) envelopes: Vec<Name>,
}

impl Vocabulary {
    /// Only the built-in names.
    pub const fn new() -> Self {
        Self {
            codes: Vec::new(),
            texts: Vec::new(),
            code_fields: Vec::new(),
            seconds: Vec::new(),
            milliseconds: Vec::new(),
            instants: Vec::new(),
            envelopes: Vec::new(),
        }
    }

    /// Adds a code and its class. Whether such a call ran is unknown, so it is repeated only if its
    /// tool may run twice, and waiting helps.
    ///
    /// A number is that of a JSON-RPC error, or the code of an envelope. A known word wins over a
    /// number.
    pub fn code(self, code: impl Into<Code>, class: Class) -> Self {
        self.with_code(code.into(), Meaning::of(class, Delivery::Unknown))
    }

    /// Adds a code that can only mean that the call was refused **before** the tool ran. If waiting
    /// helps, such a call is repeated, for any tool.
    pub fn refusal_code(self, code: impl Into<Code>, class: Class) -> Self {
        self.with_code(code.into(), Meaning::of(class, Delivery::Refused))
    }

    /// Adds a code for which the server's documentation says that a repeat is safe, even if the call
    /// ran. If waiting helps, such a call is repeated, for any tool.
    pub fn repeatable_code(self, code: impl Into<Code>, class: Class) -> Self {
        let meaning = Meaning {
            is_repeatable: true,
            ..Meaning::of(class, class.delivery())
        };
        self.with_code(code.into(), meaning)
    }

    fn with_code(mut self, code: Code, meaning: Meaning) -> Self {
        self.codes.push((code, meaning));
        self
    }

    /// Adds the beginning of a flagged result's text, or of a JSON-RPC error's message. It counts if
    /// no code says more. Whether the call ran is unknown.
    pub fn text_begins(self, beginning: impl Into<Cow<'static, str>>, class: Class) -> Self {
        self.with_text(beginning.into(), Meaning::of(class, Delivery::Unknown))
    }

    /// The same for a text that can only mean that the call was refused before the tool ran.
    pub fn refusal_begins(self, beginning: impl Into<Cow<'static, str>>, class: Class) -> Self {
        self.with_text(beginning.into(), Meaning::of(class, Delivery::Refused))
    }

    fn with_text(mut self, beginning: Name, meaning: Meaning) -> Self {
        // Every text begins with the empty text.
        if !beginning.trim().is_empty() {
            self.texts.push((beginning, meaning));
        }
        self
    }

    /// A field that holds the code, as `code` does.
    pub fn code_field(mut self, name: &str) -> Self {
        self.code_fields.push(plain(name));
        self
    }

    /// A field that holds a wait. A bare number in it is seconds.
    pub fn wait_seconds(mut self, name: &str) -> Self {
        self.seconds.push(plain(name));
        self
    }

    /// A field that holds a wait. A bare number in it is milliseconds.
    pub fn wait_millis(mut self, name: &str) -> Self {
        self.milliseconds.push(plain(name));
        self
    }

    /// A field with the time from which a call is welcome again: RFC 3339, a date of HTTP, or a
    /// number. Its size tells whether it counts seconds, milliseconds, microseconds or nanoseconds
    /// since 1970. A small number is seconds from now.
    pub fn wait_until(mut self, name: &str) -> Self {
        self.instants.push(plain(name));
        self
    }

    /// An object at the top that speaks of the call itself, as `error` does. Do not use it for an
    /// object that may describe a part of the work: a refusal in it makes the whole call run again.
    pub fn envelope_in(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.envelopes.push(name.into());
        self
    }

    /// These, and then those of another.
    pub(super) fn extend(&mut self, other: Self) {
        self.codes.extend(other.codes);
        self.texts.extend(other.texts);
        self.code_fields.extend(other.code_fields);
        self.seconds.extend(other.seconds);
        self.milliseconds.extend(other.milliseconds);
        self.instants.extend(other.instants);
        self.envelopes.extend(other.envelopes);
    }
}

/// The meaning of a name for the user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meaning {
    class: Class,
    delivery: Delivery,
    pub(super) is_repeatable: bool,
}

impl Meaning {
    const fn of(class: Class, delivery: Delivery) -> Self {
        Self {
            class,
            delivery,
            is_repeatable: false,
        }
    }

    pub(super) fn named(self) -> Named {
        Named::chosen(self.class, self.delivery)
    }
}

/// The name of a field, normalized for comparison.
fn plain(name: &str) -> String {
    letters(name).map(char::from).collect()
}
