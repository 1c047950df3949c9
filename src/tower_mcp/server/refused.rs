//! Calls that tower-mcp answers by itself, because it cannot read their parameters.
//!
//! No service sees them. Over stdio they leave their line too.

use super::{
    ResilientLayer, ServerAnswer, ServerCall,
    came::{Came, Unnamed},
    incoming::Incoming,
};
use crate::{
    failure::BoxError,
    serve::{self, Unreadable},
};
use ::tower_mcp::protocol::RequestId;
use serde::Deserialize;
use std::future::pending;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower::Service;

/// A call, and the error that it got.
pub(super) struct RefusedCall {
    came: Came,
    error: Error,
}

#[derive(Deserialize)]
struct Answer {
    // Missing if tower-mcp could not read the line, or refuses the batch.
    id: Option<RequestId>,
    error: Option<Error>,
}

#[derive(Clone, Deserialize)]
struct Error {
    code: i32,
    message: String,
}

/// Looks at the answers of a server for calls that were refused.
pub(super) struct Refusals {
    incoming: Incoming,
    refused: UnboundedSender<RefusedCall>,
}

impl Refusals {
    pub(super) fn of(incoming: &Incoming) -> (Self, UnboundedReceiver<RefusedCall>) {
        let (refused, calls) = unbounded_channel();
        let incoming = incoming.clone();
        (Self { incoming, refused }, calls)
    }

    /// An outgoing message.
    pub(super) fn look(&self, message: &[u8]) {
        // A call that reached the stack has been taken: mostly there is nothing to look for.
        if self.incoming.is_empty() {
            return;
        }
        if let Ok(answer) = serde_json::from_slice(message) {
            self.look_at(answer);
        } else if let Ok(batch) = serde_json::from_slice::<Vec<Answer>>(message) {
            for answer in batch {
                self.look_at(answer);
            }
        }
    }

    fn look_at(&self, answer: Answer) {
        let came = match (&answer.id, &answer.error) {
            (Some(id), _) => self.incoming.take(id).into_iter().collect(),
            (None, Some(error)) => self.incoming.take_unnamed(error.unnamed()),
            // A notification.
            (None, None) => return,
        };
        if let Some(error) = answer.error {
            for came in came {
                let error = error.clone();
                // The run is over, so there is no receiver.
                let _ = self.refused.send(RefusedCall { came, error });
            }
        }
    }
}

impl Error {
    fn unnamed(&self) -> Unnamed {
        const PARSE_ERROR: i32 = -32700;
        if self.code == PARSE_ERROR {
            Unnamed::Parse
        } else if self.message.to_lowercase().contains("batch") {
            Unnamed::Batch
        } else {
            Unnamed::Request
        }
    }
}

impl<S> ResilientLayer<S>
where
    S: Service<ServerCall, Response = ServerAnswer> + Clone,
    S::Error: Into<BoxError>,
{
    /// Sends a call that was refused through the stack, for its line.
    pub(super) async fn note(&self, call: RefusedCall) {
        let _counted = self.life.running.one_more();
        let stack = self.stack.clone();
        // The client has its answer.
        let _ = self.life.send(stack, call.into_call(), pending()).await;
    }
}

impl RefusedCall {
    fn into_call(self) -> ServerCall {
        let unreadable = Unreadable {
            code: self.error.code,
            problem: without_values(&self.error.message),
        };
        ServerCall::unreadable(self.came.id.clone(), self.came.read(), unreadable)
    }
}

/// tower-mcp's message without the values in serde's part of it, since it goes to the log.
fn without_values(message: &str) -> String {
    match message.split_once(": ") {
        Some((place, error)) if error.contains(", expected ") => {
            format!("{place}: {}", serve::without_values(error))
        }
        _ => message.to_owned(),
    }
}
