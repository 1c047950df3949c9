use super::{Unreadable, asked::Asked};
use crate::failure::Failure;
use ::rmcp::{
    ErrorData,
    model::{ErrorCode, ServerJsonRpcMessage},
};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// The member of an error's `data` that holds the [`mark`].
const MARK: &str = "mcp-resilience/unreadable";

impl Unreadable {
    /// Whether it may be meant as a message.
    pub(in crate::rmcp::client) fn looks_like_json(&self) -> bool {
        self.beginning.starts_with(['{', '['])
    }

    /// The failure of its call. An answer came, so the call ran.
    pub(in crate::rmcp::client) fn failure() -> Failure {
        Failure::invalid_output(
            "the tool server has run the call, but its answer cannot be read; verify before repeating",
        )
    }

    /// The error that takes this through rmcp's service to the waiting call.
    pub(in crate::rmcp::client) fn answer(self, asked: &Asked) -> ServerJsonRpcMessage {
        let data = json!({
            MARK: mark(),
            "length": self.length,
            "beginning": self.beginning,
        });
        let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, self.reason, Some(data));
        ServerJsonRpcMessage::error(error, Some(asked.id.clone()))
    }

    /// Whether [`answer`](Self::answer) made this message.
    #[cfg(feature = "rmcp-client-http")]
    pub(in crate::rmcp::client) fn is(message: &ServerJsonRpcMessage) -> bool {
        matches!(message, ServerJsonRpcMessage::Error(error) if Self::in_error(&error.error).is_some())
    }

    /// The content of an error that [`answer`](Self::answer) made. `None` if a server made it.
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

/// Known only to this process, so that no server can claim that an answer was unreadable.
pub(super) fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("{:032x}", rand::random::<u128>()))
}

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
