use crate::text::is_blank;
use serde_json::{Map, Value};
use std::iter;

/// The answer of one tool.
///
/// A result passes the whole stack field for field. The stack looks at it through these methods, and
/// builds one only from a failure.
///
/// `Send + Sync` because a flagged result travels up inside a [`Failure`](crate::Failure), which is
/// an error and may be shared.
///
/// ```
/// use mcp_resilience::call::{Flagged, ToolResult};
///
/// struct Answer {
///     text: String,
///     is_error: bool,
/// }
///
/// impl ToolResult for Answer {
///     fn is_error(&self) -> bool {
///         self.is_error
///     }
///     fn texts(&self) -> impl Iterator<Item = &str> {
///         std::iter::once(self.text.as_str())
///     }
///     fn flag(&mut self) {
///         self.is_error = true;
///     }
///     fn from_failure(flagged: Flagged) -> Option<Self> {
///         Some(Self { text: flagged.text, is_error: true })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool result",
    label = "this response type does not implement `ToolResult`",
    note = "implement `mcp_resilience::call::ToolResult` for it, or turn on the feature `rmcp` for the types of rmcp"
)]
pub trait ToolResult: Sized + Send + Sync + 'static {
    /// Whether the tool says that it failed. An absent flag means no.
    fn is_error(&self) -> bool;

    /// Whether the call goes on elsewhere: the server asks for input, made a task of it, or answered
    /// with an unknown `resultType`.
    ///
    /// Such an answer is neither a success nor a failure. It passes untouched and is never repeated.
    fn is_interim(&self) -> bool {
        false
    }

    /// Whether a handler behind an adapter returned it, instead of a server.
    ///
    /// A handler may pass on the answer of a service that it called after half its work. So the
    /// envelope of such a result gives class, code and wait. It never says that this call did not
    /// run, or that it may run again.
    fn is_from_handler(&self) -> bool {
        false
    }

    /// The text blocks, in their order.
    fn texts(&self) -> impl Iterator<Item = &str> {
        iter::empty()
    }

    /// The structured content.
    fn structured(&self) -> Option<&Value> {
        None
    }

    /// The result's `_meta`.
    fn meta(&self) -> Option<&Map<String, Value>> {
        None
    }

    /// Whether a model could read nothing in it: no structured content, and no text with a visible
    /// character.
    fn is_empty(&self) -> bool {
        self.structured().is_none() && self.texts().all(is_blank)
    }

    /// Sets the flag, and changes nothing else.
    fn flag(&mut self);

    /// Builds a flagged result. `None` if this kind of result has no flag (a resource, a prompt):
    /// then the caller gets the failure as an error.
    fn from_failure(flagged: Flagged) -> Option<Self>;
}

/// The content of a flagged result that is built from a failure.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Flagged {
    /// The text for the model: the only text block.
    pub text: String,
    /// The envelope for the structured content, if the tool is known to declare no `outputSchema`.
    pub structured: Option<Value>,
    /// The envelope for `_meta` in all other cases, under its own key.
    pub meta: Option<Map<String, Value>>,
}

impl Flagged {
    /// A text, and an envelope in one of the two places or none, for tests of
    /// [`ToolResult::from_failure`].
    #[must_use]
    pub fn new(text: String, structured: Option<Value>, meta: Option<Map<String, Value>>) -> Self {
        Self {
            text,
            structured,
            meta,
        }
    }
}
