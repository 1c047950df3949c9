//! A line of stdin, and how tower-mcp takes it.
//!
//! It answers some lines as a whole, with an error that names no request.

use super::{broken, came::Came};
use crate::call::Method;
use ::tower_mcp::{
    inspection::{JsonRpcPayload, McpDirection, McpInspector, McpProtocolRevision},
    protocol::{JsonRpcMessage, RequestId},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::VecDeque;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The only revision of MCP that has batches.
const WITH_BATCHES: McpProtocolRevision = McpProtocolRevision::V2025_03_26;

/// The calls of a line, and how tower-mcp takes it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) calls: VecDeque<Came>,
    taken: Taken,
    is_batch: bool,
    // The first one, in a batch.
    declared: Option<String>,
    is_early: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// Refused as a whole: it is not JSON.
    NotJson,
    /// Refused as a whole: it is JSON, but is not JSON-RPC, has no id, or mixes revisions.
    Invalid,
    /// Refused as a whole: a batch with a message that no session may send.
    Forbidden,
    /// Refused as a whole: a batch with more than requests, or a request with a member twice.
    NotRequests,
    /// Each request has an answer of its own. A batch only if its revision has batches.
    Each,
}

/// An error that names no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unnamed<'a> {
    /// A line cannot be read.
    Parse,
    /// A message is invalid, or must not be sent.
    Request,
    /// This revision has no batches.
    Batch(&'a str),
    /// There is a batch before a revision has been negotiated.
    Early,
    /// The server does not support this revision.
    Revision(&'a str),
}

/// What most calls look like, which tower-mcp takes for sure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain<'a> {
    jsonrpc: &'a str,
    id: RequestId,
    method: &'a str,
    // For the errors in it.
    #[serde(rename = "params")]
    _params: Map<String, Value>,
}

impl Line {
    /// Reads a line, which is early before the client has sent `initialize`. `None` if nothing is to be
    /// known of it later.
    pub(super) fn read(line: &[u8], is_early: bool) -> Option<Self> {
        // tower-mcp reads over it, too.
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let mut line = match str::from_utf8(line) {
            Ok(text) => Self::of_text(text.trim())?,
            Err(_) => Self::broken(line),
        };
        line.is_early = is_early;
        // Its error is not that of another line.
        let has_error = line.taken == Taken::NotJson || line.is_batch && line.is_refused();
        (!line.calls.is_empty() || has_error).then_some(line)
    }

    fn of_text(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        if let Ok(plain) = serde_json::from_str::<Plain<'_>>(text)
            && plain.jsonrpc == "2.0"
        {
            Method::of_name(plain.method)?;
            let call = Came {
                id: Some(plain.id),
                request: text.into(),
            };
            return Some(Self::of([call], Taken::Each));
        }
        let Ok(message) = serde_json::from_str::<Value>(text) else {
            return Some(Self::broken(text.as_bytes()));
        };
        Some(match &message {
            Value::Array(batch) => {
                let call = |call: &Value| Came::of(call, || call.to_string().into());
                Self {
                    is_batch: true,
                    declared: batch.iter().find_map(declared).map(str::to_owned),
                    ..Self::of(batch.iter().filter_map(call), Taken::of(text, &message))
                }
            }
            one => Self {
                declared: declared(one).map(str::to_owned),
                ..Self::of(Came::of(one, || text.into()), Taken::of(text, one))
            },
        })
    }

    fn broken(line: &[u8]) -> Self {
        Self::of(broken::calls(line), Taken::NotJson)
    }

    fn of(calls: impl IntoIterator<Item = Came>, taken: Taken) -> Self {
        Self {
            calls: calls.into_iter().collect(),
            taken,
            is_batch: false,
            declared: None,
            is_early: false,
        }
    }

    /// Whether it gets an error that names no request, whatever the revision of the session is.
    pub(super) fn is_refused(&self) -> bool {
        self.taken != Taken::Each
    }

    /// Whether this error may be the answer to it.
    pub(super) fn may_get(&self, error: Unnamed<'_>) -> bool {
        use Taken::{Each, Forbidden, Invalid, NotJson, NotRequests};
        let (taken, declared) = (self.taken, self.declared.as_deref());
        match error {
            Unnamed::Parse => matches!(taken, NotJson | NotRequests),
            Unnamed::Request => {
                let is_other = |declared| declared != WITH_BATCHES.as_str();
                taken == Invalid || taken == Forbidden && !declared.is_some_and(is_other)
            }
            Unnamed::Batch(revision) => {
                self.is_batch
                    && matches!(taken, NotRequests | Forbidden | Each)
                    && declared.is_none_or(|declared| declared == revision)
            }
            Unnamed::Early => self.is_batch && self.is_early && declared.is_none(),
            Unnamed::Revision(revision) => {
                (self.is_batch || self.is_refused()) && declared == Some(revision)
            }
        }
    }

    /// Whether a call of it may get an error that names the call.
    pub(super) fn may_get_named(&self) -> bool {
        !matches!(self.taken, Taken::NotJson | Taken::Invalid)
    }
}

impl Taken {
    /// By the functions of tower-mcp's transport, in its order.
    fn of(text: &str, message: &Value) -> Self {
        if JsonRpcPayload::inspect(message).is_err() {
            return Self::Invalid;
        }
        if let Some(batch) = message.as_array() {
            let mut revisions = batch.iter().filter_map(declared);
            let revision = revisions.next();
            if revisions.any(|other| Some(other) != revision) {
                return Self::Invalid;
            }
            let is_other = revision.is_some_and(|revision| revision != WITH_BATCHES.as_str());
            let inspector = McpInspector::for_revision(WITH_BATCHES);
            let inspected = inspector.inspect(message, Some(McpDirection::ClientToServer));
            if is_other || inspected.is_err() {
                return Self::Forbidden;
            }
        } else if message.get("id").is_none() {
            return Self::Invalid;
        }
        match serde_json::from_str::<JsonRpcMessage>(text) {
            Ok(_) => Self::Each,
            Err(_) => Self::NotRequests,
        }
    }
}

/// The revision that a request declares by itself.
fn declared(request: &Value) -> Option<&str> {
    let revision = request.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
    revision?.as_str()
}

/// Whether the client begins a session.
pub(super) fn is_initialize(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Head<'a> {
        method: &'a str,
    }
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    serde_json::from_slice::<Head<'_>>(line).is_ok_and(|head| head.method == "initialize")
}
