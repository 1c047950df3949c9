use super::{lookup::letters, named::Named};
use crate::failure::{Class, Code, Delivery};
use std::borrow::Cow;

type Name = Cow<'static, str>;

/// Names of your own for a [`ClassifyLayer`](super::ClassifyLayer): what a server calls its codes,
/// its fields and its waits, where only the names are new.
///
/// They are asked before the names that are built in, and everywhere where those are: in structured
/// content, in JSON in a text, in the `data` of a JSON-RPC error, under `_meta`. All else that holds for
/// those holds for them: a word decides only at its place, `retryable: false` beats it, a wait makes
/// nothing repeatable. Codes and names of fields are compared without case, `_`, `-` and blanks, texts and
/// the names of envelopes letter by letter.
///
/// Two things are dangerous to say: that a code means that the call **did not run**, and that it means
/// that a repeat is fine. Such a call is made again, whatever its tool does, also if the code stands
/// in JSON in a text. So they have methods of their own: [`refusal_code`](Self::refusal_code),
/// [`refusal_begins`](Self::refusal_begins) and [`repeatable_code`](Self::repeatable_code).
///
/// # Example
///
/// A server that answers `{"fault": {"reason": "E_BUSY", "cooldown": 20}}`:
///
/// ```
/// use mcp_resilience::{
///     Class, Delivery,
///     classify::{ClassifyLayer, Words},
///     failure::RpcError,
/// };
/// use serde_json::json;
/// use std::time::Duration;
///
/// let words = Words::new()
///     .envelope_in("fault")
///     .code_field("reason")
///     .code("E_BUSY", Class::AtCapacity)
///     // By its documentation it counts calls before it runs them.
///     .refusal_code("E_QUOTA", Class::RateLimited)
///     .wait_seconds("cooldown")
///     .text_begins("Quota reached: ", Class::RateLimited);
/// let layer = ClassifyLayer::new().words(words);
///
/// // The layer asks them of every failed call; this is the same for one error.
/// let said = |reason| json!({"fault": {"reason": reason, "cooldown": 20}});
/// let name = |data| layer.name(RpcError::new(-32000, "try later", Some(data)));
///
/// let busy = name(said("E_BUSY"));
/// assert_eq!((busy.class(), busy.delivery()), (Class::AtCapacity, Delivery::Unknown));
/// assert_eq!(busy.retry_after(), Some(Duration::from_secs(20)));
///
/// let quota = name(said("e-quota"));
/// assert_eq!((quota.class(), quota.delivery()), (Class::RateLimited, Delivery::Refused));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Words {
    pub(super) codes: Vec<(Code, Meaning)>,
    pub(super) texts: Vec<(Name, Meaning)>,
    pub(super) code_fields: Vec<String>,
    pub(super) seconds: Vec<String>,
    pub(super) milliseconds: Vec<String>,
    pub(super) instants: Vec<String>,
    pub(super) envelopes: Vec<Name>,
}

impl Words {
    /// No names but those that are built in.
    #[must_use]
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

    /// A code, and what it means. Whether a call that failed with it ran is unknown; so it is made
    /// again only if its tool may run twice, and time heals the class.
    ///
    /// A number is one of a JSON-RPC error, or in the code field of an envelope. A word that is known
    /// beats a number.
    #[must_use]
    pub fn code(self, code: impl Into<Code>, class: Class) -> Self {
        self.with_code(code.into(), Meaning::of(class, Delivery::Unknown))
    }

    /// A code that can mean nothing but that the call was turned away **before** the tool ran. Where
    /// time heals the class, such a call is made again, for any tool.
    #[must_use]
    pub fn refusal_code(self, code: impl Into<Code>, class: Class) -> Self {
        self.with_code(code.into(), Meaning::of(class, Delivery::Refused))
    }

    /// A code of which the server's documentation says that a repeat is fine, also if the call ran.
    /// Where time heals the class, such a call is made again, for any tool.
    #[must_use]
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

    /// How the text of a flagged result, or the message of a JSON-RPC error, begins where no code
    /// says it better. Whether the call ran is unknown.
    #[must_use]
    pub fn text_begins(self, beginning: impl Into<Cow<'static, str>>, class: Class) -> Self {
        self.with_text(beginning.into(), Meaning::of(class, Delivery::Unknown))
    }

    /// The same for a text that can mean nothing but that the call was turned away before the tool
    /// ran.
    #[must_use]
    pub fn refusal_begins(self, beginning: impl Into<Cow<'static, str>>, class: Class) -> Self {
        self.with_text(beginning.into(), Meaning::of(class, Delivery::Refused))
    }

    fn with_text(mut self, beginning: Name, meaning: Meaning) -> Self {
        // Every text begins with nothing.
        if !beginning.trim().is_empty() {
            self.texts.push((beginning, meaning));
        }
        self
    }

    /// A field that holds the code, as `code` does.
    #[must_use]
    pub fn code_field(mut self, name: &str) -> Self {
        self.code_fields.push(plain(name));
        self
    }

    /// A field that holds a wait. A bare number in it is seconds.
    #[must_use]
    pub fn wait_seconds(mut self, name: &str) -> Self {
        self.seconds.push(plain(name));
        self
    }

    /// A field that holds a wait. A bare number in it is milliseconds.
    #[must_use]
    pub fn wait_millis(mut self, name: &str) -> Self {
        self.milliseconds.push(plain(name));
        self
    }

    /// A field that holds the time from which a call is welcome again: RFC 3339, a date of HTTP, or
    /// seconds or milliseconds since 1970.
    #[must_use]
    pub fn wait_until(mut self, name: &str) -> Self {
        self.instants.push(plain(name));
        self
    }

    /// An object at the top that speaks of the call itself, as `error` does. Not for one that may
    /// tell of a part of what the tool did: a refusal in it makes the whole call run again.
    #[must_use]
    pub fn envelope_in(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.envelopes.push(name.into());
        self
    }

    /// These and those of another, which are asked later.
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

/// What a name means to the user.
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

/// A name of a field as fields are compared.
fn plain(name: &str) -> String {
    letters(name).map(char::from).collect()
}
