use crate::{rmcp::Answer, serve::HandlerAnswer};

/// The answer of a handler to a [`ServerCall`](super::ServerCall), on its way up.
pub type ServerAnswer = HandlerAnswer<Answer>;

impl From<ServerAnswer> for Answer {
    fn from(answer: ServerAnswer) -> Self {
        answer.into_inner()
    }
}
