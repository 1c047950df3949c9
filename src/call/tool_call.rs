use super::{
    Arguments, CallOptions, Cancellation, HintSource, Hints, IdempotencyKey, InvalidKey, Method,
    Progress, Route,
};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A request to run one tool, or to read one resource or prompt.
///
/// Only [`name`](Self::name) has no default. Everything that a request does not provide is unknown.
/// A log line leaves it out, and a tool without hints is not run twice.
///
/// ```
/// use mcp_resilience::call::{Hints, ToolCall};
///
/// #[derive(Clone)]
/// struct Call {
///     tool: String,
/// }
///
/// impl ToolCall for Call {
///     fn name(&self) -> &str {
///         &self.tool
///     }
///     fn hints(&self) -> Hints {
///         // From the annotations of the tool's list. Only these tools run twice.
///         Hints::new().read_only(self.tool.starts_with("get_"))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool call",
    label = "this request type does not implement `ToolCall`",
    note = "implement `mcp_resilience::call::ToolCall` for it (only `name` is required), or turn on the feature `rmcp` for the types of rmcp"
)]
pub trait ToolCall {
    /// The tool's name, as the server lists it; for other methods, the URI or the prompt's name.
    fn name(&self) -> &str;

    /// Which request this is.
    fn method(&self) -> Method {
        Method::CallTool
    }

    /// The arguments. They are logged as JSON, with secrets masked.
    fn arguments(&self) -> Option<Arguments<'_>> {
        None
    }

    /// The request's `_meta`. A W3C `traceparent` in it names the trace that the call belongs to; see
    /// [`telemetry`](crate::telemetry#context).
    fn meta(&self) -> Option<&Map<String, Value>> {
        None
    }

    /// The current hints of the tool. A retry asks again after each failed attempt.
    fn hints(&self) -> Hints {
        Hints::new()
    }

    /// The source of the hints, if they may change while the call runs. It is also asked after the
    /// last attempt was passed to the service.
    fn hint_source(&self) -> Option<HintSource> {
        None
    }

    /// The JSON-RPC id: a number or a string.
    fn request_id(&self) -> Option<Value> {
        None
    }

    /// The MCP session's id.
    fn session_id(&self) -> Option<&str> {
        None
    }

    /// How the call travels, as far as it is known, for spans and metrics.
    fn route(&self) -> Route {
        Route::default()
    }

    /// Whether the server lists what is called. `None` if that is unknown.
    ///
    /// Metrics have no label for a name that is not listed, since a caller may make up any number of
    /// names.
    fn is_listed(&self) -> Option<bool> {
        None
    }

    /// The handle by which this call reports progress. All copies of the call share it.
    ///
    /// With it, an attempt is cut off only if it reports nothing for its limit of time.
    fn progress(&self) -> Option<&Progress> {
        None
    }

    /// The key that identifies this call across its attempts, or why the given key is invalid.
    ///
    /// [`IdempotencyKey::of_request`] says where it is looked for. See
    /// [`idempotency`](crate::idempotency).
    fn idempotency_key(&self) -> Option<Result<IdempotencyKey, InvalidKey>> {
        IdempotencyKey::of_request(self.meta(), self.arguments())
    }

    /// Whether the server runs the call once even if it is sent several times: the call has a key,
    /// and the server honours keys. Then the call is repeated even if it may have run.
    fn runs_once(&self) -> bool {
        false
    }

    /// The identity of the caller, in any form that distinguishes callers, such as the
    /// `Authorization` of the HTTP request. `None` if all callers share one identity.
    fn identity(&self) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// The continuation of an earlier round of the same call: `inputResponses` and `requestState`.
    /// Each round runs once.
    fn continuation(&self) -> Option<Value> {
        None
    }

    /// The `requestState` of the call, set or not. Default: `None`.
    ///
    /// [`idempotency`](crate::idempotency#rounds) removes the number of the round from it, which it
    /// has put into
    /// [`StoredResult::request_state_mut`](crate::idempotency::StoredResult::request_state_mut).
    /// Implement both or neither.
    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        None
    }

    /// Whether the caller cancelled the call. Without it, a dropped call counts as one that lost its
    /// connection.
    fn cancellation(&self) -> Option<&Cancellation> {
        None
    }

    /// Settings of this call alone. They have precedence over those of its tool and of the layers.
    fn options(&self) -> Option<&CallOptions> {
        None
    }
}
