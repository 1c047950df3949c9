//! Calls that tower-mcp answers by itself, because it cannot read them or their line.
//!
//! No service sees them. Over stdio they leave their line too.

use super::{
    ResilientLayer, ServerAnswer, ServerCall,
    came::Came,
    incoming::Incoming,
    line::{Named, Unnamed},
};
use crate::{
    failure::BoxError,
    serve::{self, Unreadable},
};
use ::tower_mcp::protocol::RequestId;
use serde::Deserialize;
use serde_json::Value;
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
    // Missing if tower-mcp refuses the line as a whole.
    id: Option<RequestId>,
    error: Option<Error>,
}

#[derive(Clone, Deserialize)]
struct Error {
    code: i32,
    message: String,
    #[serde(default)]
    data: Value,
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

    fn look_at(&self, Answer { id, error }: Answer) {
        match (id, error) {
            (None, Some(error)) => {
                let calls = self.incoming.take_unnamed(error.unnamed());
                self.refuse(calls, &error);
            }
            (Some(id), Some(error)) => {
                let named = error.named();
                match named.and_then(|named| self.incoming.take_named(&id, named)) {
                    Some(call) => self.refuse([call], &error),
                    None => self.incoming.reach(&id),
                }
            }
            // A call that has a result has reached the stack.
            (Some(id), None) => self.incoming.reach(&id),
            (None, None) => {}
        }
    }

    fn refuse(&self, calls: impl IntoIterator<Item = Came>, error: &Error) {
        for came in calls {
            let error = error.clone();
            // The run is over, so there is no receiver.
            let _ = self.refused.send(RefusedCall { came, error });
        }
    }
}

const PARSE_ERROR: i32 = -32700;
const INVALID_PARAMS: i32 = -32602;
const UNSUPPORTED_REVISION: i32 = -32022;

impl Error {
    /// `None` if tower-mcp has no such error for a call before the stack.
    fn named(&self) -> Option<Named<'_>> {
        let params = || {
            let rest = self.message.strip_prefix("invalid `")?;
            let (method, rest) = rest.split_once("` params for MCP ")?;
            let (revision, _) = rest.split_once(": ")?;
            Some(Named::Params { method, revision })
        };
        match self.code {
            INVALID_PARAMS => Some(params().unwrap_or(Named::Meta)),
            UNSUPPORTED_REVISION => Some(Named::Revision(self.requested())),
            _ => None,
        }
    }

    fn unnamed(&self) -> Unnamed<'_> {
        let said = &*self.message;
        let batch = || {
            let rest = said.strip_prefix("MCP ")?;
            rest.strip_suffix(" does not permit top-level JSON-RPC batches")
        };
        match self.code {
            PARSE_ERROR => Unnamed::Parse,
            UNSUPPORTED_REVISION => Unnamed::Revision(self.requested()),
            _ if said.ends_with("for a batch before protocol negotiation") => Unnamed::Early,
            _ => batch().map_or(Unnamed::Request, Unnamed::Batch),
        }
    }

    /// The revision that is not supported.
    fn requested(&self) -> &str {
        self.data["requested"].as_str().unwrap_or_default()
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
        ServerCall::unreadable(self.came.read(), unreadable)
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
