use crate::serve::HandlerAnswer;
use ::tower_mcp::protocol::McpResponse;

/// The answer of a router to a [`ServerCall`](super::ServerCall), on its way up.
pub type ServerAnswer = HandlerAnswer<McpResponse>;

impl From<ServerAnswer> for McpResponse {
    fn from(answer: ServerAnswer) -> Self {
        answer.into_inner()
    }
}
