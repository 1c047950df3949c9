use super::asked::Asked;
use crate::{
    failure::Failure,
    text::{first, shown},
};
use ::rmcp::{
    ErrorData,
    model::{ErrorCode, JsonRpcMessage, ServerJsonRpcMessage},
};
use serde_json::{Value, json};
use std::{error::Error, fmt, sync::OnceLock};

/// How much of a text is shown, in bytes.
pub(super) const BEGINNING: usize = 200;

/// How much of it is read for secrets.
const READ: usize = 4 * BEGINNING;

/// The longest reason, in bytes: it may quote the server.
pub(super) const REASON: usize = 300;

/// The member of an error's `data` that holds the [`mark`].
const MARK: &str = "mcp-resilience/unreadable";

/// A text of a server that cannot be read: why, how long it is, and how it begins.
#[derive(Clone, Debug)]
pub(in crate::rmcp::client) struct Unreadable {
    reason: String,
    length: usize,
    beginning: String,
    /// How many others there were in the same line, body or event.
    more: u64,
}

impl Unreadable {
    pub(in crate::rmcp::client) fn new(reason: impl AsRef<str>, text: &str) -> Self {
        Self::of_length(reason, text, text.len())
    }

    /// One of which only the beginning was kept.
    pub(in crate::rmcp::client) fn of_length(
        reason: impl AsRef<str>,
        beginning: &str,
        length: usize,
    ) -> Self {
        // Without secrets at once: it may be told with another call than the one that it quotes.
        Self {
            reason: shown(reason.as_ref(), REASON),
            length,
            beginning: shown(first(beginning, READ), BEGINNING),
            more: 0,
        }
    }

    pub(super) fn and_more(mut self, more: u64) -> Self {
        self.more = more;
        self
    }

    pub(super) fn count(&self) -> u64 {
        self.more.saturating_add(1)
    }

    /// Whether it may have been meant as a message.
    pub(in crate::rmcp::client) fn looks_like_json(&self) -> bool {
        self.beginning.starts_with(['{', '['])
    }

    /// What it means for its call: an answer came, so the call ran, whatever the answer was to say.
    pub(in crate::rmcp::client) fn failure() -> Failure {
        Failure::invalid_output(
            "the tool server has run the call, but its answer cannot be read; verify before repeating",
        )
    }

    /// The error that takes this through rmcp's service to the call that waits.
    pub(in crate::rmcp::client) fn answer(self, asked: &Asked) -> ServerJsonRpcMessage {
        let data = json!({
            MARK: mark(),
            "length": self.length,
            "beginning": self.beginning,
        });
        let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, self.reason, Some(data));
        ServerJsonRpcMessage::error(error, Some(asked.id.clone()))
    }

    /// Whether a message is one that [`answer`](Self::answer) made.
    #[cfg(feature = "rmcp-client-http")]
    pub(in crate::rmcp::client) fn is(message: &ServerJsonRpcMessage) -> bool {
        matches!(message, JsonRpcMessage::Error(error) if Self::in_error(&error.error).is_some())
    }

    /// What [`answer`](Self::answer) made an error of; none if a server made it.
    pub(in crate::rmcp::client) fn in_error(error: &ErrorData) -> Option<Self> {
        let data = error.data.as_ref()?;
        if data.get(MARK)?.as_str()? != mark() {
            return None;
        }
        Some(Self {
            reason: error.message.clone().into_owned(),
            length: usize::try_from(data.get("length")?.as_u64()?).ok()?,
            beginning: data.get("beginning").and_then(Value::as_str)?.to_owned(),
            more: 0,
        })
    }
}

/// Known to this process alone, so that no server can claim that an answer was unreadable.
pub(super) fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("{:032x}", rand::random::<u128>()))
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            reason,
            length,
            beginning,
            more,
        } = self;
        write!(f, "{reason}; it has {length} bytes")?;
        if !beginning.is_empty() {
            write!(f, " and begins with: {beginning}")?;
        }
        if *more > 0 {
            write!(f, "; and {more} more")?;
        }
        Ok(())
    }
}

impl Error for Unreadable {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_server_can_claim_that_an_answer_was_unreadable() {
        let forged = json!({MARK: "0", "length": 1, "beginning": ""});
        let forged = ErrorData::internal_error("forged", Some(forged));
        assert!(Unreadable::in_error(&forged).is_none());
    }
}
