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
use serde_json::{Map, Value, value::RawValue};
use std::collections::VecDeque;

/// The method that begins a session.
const INITIALIZE: &str = "initialize";

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
    // The id of a request to begin a session. tower-mcp answers it before it reads the next line.
    begins: Option<RequestId>,
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

/// An error that names a request, which tower-mcp refused before the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named<'a> {
    /// The parameters are not those of this method in this revision.
    Params { method: &'a str, revision: &'a str },
    /// The request declares a revision, and the rest of its `_meta` is incomplete or invalid.
    Meta,
    /// The server does not support this revision.
    Revision(&'a str),
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
    /// Reads a line. `None` if nothing is to be known of it later.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        // tower-mcp reads over it, too.
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let line = match str::from_utf8(line) {
            Ok(text) => Self::of_text(text.trim())?,
            Err(_) => Self::broken(line),
        };
        // Its error is not that of another line.
        let has_error = line.taken == Taken::NotJson || line.is_batch && line.is_refused();
        (!line.calls.is_empty() || has_error || line.begins.is_some()).then_some(line)
    }

    fn of_text(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        if let Ok(plain) = serde_json::from_str::<Plain<'_>>(text)
            && plain.jsonrpc == "2.0"
            && plain.method != INITIALIZE
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
                // As they were written: a number that is written anew may be another one when it is read.
                let texts: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
                let calls = batch.iter().zip(texts);
                let calls = calls.filter_map(|(call, text)| Came::of(call, || text.get().into()));
                Self {
                    is_batch: true,
                    declared: batch.iter().find_map(declared).map(str::to_owned),
                    ..Self::of(calls, Taken::of(text, &message))
                }
            }
            one => {
                let taken = Taken::of(text, one);
                let begins = taken == Taken::Each && one["method"] == INITIALIZE;
                Self {
                    declared: declared(one).map(str::to_owned),
                    begins: RequestId::from_json(&one["id"]).filter(|_| begins),
                    ..Self::of(Came::of(one, || text.into()), taken)
                }
            }
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
            begins: None,
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
            Unnamed::Early => self.is_batch && declared.is_none(),
            Unnamed::Revision(revision) => {
                (self.is_batch || self.is_refused()) && declared == Some(revision)
            }
        }
    }

    /// Whether this error may be the answer to this call of it.
    pub(super) fn may_get_named(&self, call: &Came, error: Named<'_>) -> bool {
        let is_single = !self.is_batch && self.taken != Taken::NotJson;
        let request = call.read();
        let declared = declared(&request);
        match error {
            Named::Params { method, revision } => {
                let is_valid = self.taken != Taken::Invalid;
                let is_of = declared.is_none_or(|declared| declared == revision);
                is_single && is_valid && is_of && call.has_invalid_params(method, revision)
            }
            Named::Meta => self.taken == Taken::Each && call.has_invalid_meta(),
            Named::Revision(revision) => is_single && declared == Some(revision),
        }
    }

    /// The id of a request to begin a session, if it is one.
    pub(super) fn begins(&self) -> Option<&RequestId> {
        self.begins.as_ref()
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
pub(super) fn declared(request: &Value) -> Option<&str> {
    let revision = request.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
    revision?.as_str()
}
