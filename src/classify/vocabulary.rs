//! What servers and SDKs call things: names and nothing but names.
//!
//! A server whose names are only new names is understood by a line here; a user adds the same by
//! [`Words`](super::Words). Every shape in which they were seen has a file under `tests/corpus`.
//!
//! Words and fields are compared without case, `_`, `-` and blanks. Texts are compared letter by
//! letter, at the place where the SDK writes them.

use super::lookup::Unit;
use crate::failure::{
    Class::{
        self, AtCapacity, Cancelled, Crash, Disabled, Forbidden, InvalidInput, InvalidOutput,
        NotFound, Protocol, RateLimited, Timeout, Unauthorized, Unavailable, Upstream,
    },
    META_KEY,
};

/// Codes of other public servers. Those of the [table](crate::failure#the-classes) are documented,
/// and stand there.
///
/// None says that the call did not run: most are the words of an API behind a tool, which the tool
/// hands on after who knows what. A user whose server means its own calls says so by
/// [`Words::refusal_code`](super::Words::refusal_code).
#[rustfmt::skip]
pub(super) const CODES: &[(&str, Class)] = &[
    ("too_many_requests",       RateLimited),
    ("rate_limit_error",        RateLimited),
    ("rate_limit_exceeded",     RateLimited),
    ("throttling_exception",    RateLimited),
    ("quota_exceeded",          RateLimited),
    ("keyless_quota_exhausted", RateLimited),
    ("resource_exhausted",      RateLimited),
    ("overloaded",              AtCapacity),
    ("unavailable",             Unavailable),
    ("upstream_unavailable",    Upstream),
    ("backend_unreachable",     Upstream),
    ("mcp_server_unreachable",  Upstream),
    ("timeout",                 Timeout),
    ("timeout_error",           Timeout),
    ("tool_timeout",            Timeout),
    ("upstream_timeout",        Timeout),
    ("invalid_input",           InvalidInput),
    ("validation_error",        InvalidInput),
    ("unauthorized",            Unauthorized),
    ("authentication_error",    Unauthorized),
    ("authorization_error",     Forbidden),
    // Our own, of a server that honours keys. An earlier attempt may run: none is a refusal.
    ("idempotency_in_flight",   Unavailable),
    ("idempotency_unknown",     Unavailable),
    ("idempotency_not_kept",    Unavailable),
    ("idempotency_conflict",    InvalidInput),
    ("idempotency_key_invalid", InvalidInput),
    ("idempotency_key_required", InvalidInput),
    ("internal",                Crash),
    ("internal_error",          Crash),
];

/// Codes that say by their definition that a call was turned away before it ran.
pub(super) const REFUSALS: &[&str] = &["rate_limited", "at_capacity", "service_unavailable"];

/// The code that its server documents as fine to repeat, in an envelope that also has an `error` and
/// a `status` of at least so much.
pub(super) const REPEATABLE: &str = "upstream_error";
pub(super) const REPEATABLE_FROM: u16 = 500;

/// Numbers of JSON-RPC and MCP.
#[rustfmt::skip]
pub(super) const NUMBERS: &[(i64, Class)] = &[
    (-32602, InvalidInput),
    (-32700, Protocol),
    (-32601, Protocol),
    (-32600, Protocol),
    // A missing resource, until MCP 2025-11-25.
    (-32002, NotFound),
    (-32800, Cancelled),
];

/// The number of a proposal for rate limits. It is a refusal by its definition, and needs a wait.
pub(super) const RATE_LIMITED: i64 = -32023;

/// Numbers that mean other things too, and this only together with a wait: the proposal's, what
/// servers use meanwhile, and what two gateways chose for themselves.
pub(super) const NUMBERS_WITH_A_WAIT: &[i64] = &[RATE_LIMITED, -32029, -32105, -33001];

/// Fields of a code.
pub(super) const CODE: &[&str] = &["code", "errorcode", "errortype"];
/// Fields that hold one if it is a word that is known, and much else besides.
pub(super) const MAYBE_CODE: &[&str] = &["type", "status"];
pub(super) const MESSAGE: &[&str] = &["message", "error", "detail"];
/// Fields of an HTTP status.
pub(super) const STATUS: &[&str] = &["status", "statuscode", "httpstatus"];
pub(super) const RETRYABLE: &[&str] = &["retryable", "isretryable"];
/// Fields that only say no: as what asks for a repeat, they are too vague.
pub(super) const NO_WITH_FALSE: &[&str] = &[
    "retryable",
    "isretryable",
    "retriable",
    "isretriable",
    "canretry",
    "canberetried",
    "shouldretry",
    "retryallowed",
    "retry",
];
pub(super) const NO_WITH_TRUE: &[&str] = &[
    "nonretryable",
    "nonretriable",
    "notretryable",
    "noretry",
    "donotretry",
];
/// A zero in it is a number of retries.
pub(super) const MAYBE_A_COUNT: &str = "retry";
pub(super) const NO: &[&str] = &["false", "no", "never"];
/// Fields that say in a word of their own that a repeat is of no use.
pub(super) const FINAL: &[(&str, &[&str])] = &[
    ("recovery", &["terminal", "correctable"]),
    ("category", &["permanent"]),
    ("errorcategory", &["permanent"]),
];

/// Fields of a wait: alone, a number in them is seconds; else their name ends in its unit.
pub(super) const WAITS: &[&str] = &[
    "retryafter",
    "retryafters",
    "retryafterin",
    "retrydelay",
    "retryin",
    "retrywait",
    "nextretryin",
    "tryagainin",
    "resetin",
    "resetsin",
    "resetafter",
];
/// They are one only with a unit.
pub(super) const WAITS_WITH_UNIT: &[&str] = &["after", "wait", "backoff", "cooldown"];
/// Fields of a point in time.
pub(super) const INSTANTS: &[&str] = &[
    "retryat",
    "nextretryat",
    "tryagainat",
    "resetat",
    "resetsat",
    "retrynotbefore",
    "retryuntil",
    "retryafterdate",
    "retryaftertime",
    "retryaftertimestamp",
];
/// How the names of these end. No single letters: `retryDelays` is a list of settings.
#[rustfmt::skip]
pub(super) const UNITS: &[(&str, Unit)] = &[
    ("ms",           Unit::Milliseconds),
    ("msec",         Unit::Milliseconds),
    ("msecs",        Unit::Milliseconds),
    ("millis",       Unit::Milliseconds),
    ("millisecond",  Unit::Milliseconds),
    ("milliseconds", Unit::Milliseconds),
    ("sec",          Unit::Seconds),
    ("secs",         Unit::Seconds),
    ("second",       Unit::Seconds),
    ("seconds",      Unit::Seconds),
    ("min",          Unit::Minutes),
    ("mins",         Unit::Minutes),
    ("minute",       Unit::Minutes),
    ("minutes",      Unit::Minutes),
    ("hour",         Unit::Hours),
    ("hours",        Unit::Hours),
];

/// The object in which an envelope speaks of the call.
pub(super) const ERROR: &str = "error";
/// Objects in which it tells more of it, or of a part of what was done.
pub(super) const PARTS: &[&str] = &["data", "details"];
/// Lists whose first object is such a part.
pub(super) const PART_LISTS: &[&str] = &["errors"];
/// Lists of objects that may hold a wait.
pub(super) const HINT_LISTS: &[&str] = &["details", "errors", "next_actions"];
/// Keys of `_meta` that hold an envelope: our own, and a proposal's. Nobody else's speaks of the call.
pub(super) const META: &[&str] = &[META_KEY, "io.modelcontextprotocol/toolFailure"];

/// How a text begins.
#[rustfmt::skip]
pub(super) const BEGINNINGS: &[(&str, Class)] = &[
    // TypeScript 1 and 2, the former behind `MCP error -32602: `.
    ("Input validation error: ",                 InvalidInput),
    ("Output validation error: ",                InvalidOutput),
    // Their clients, of what a server answered.
    ("Structured content does not match the tool's output schema", InvalidOutput),
    ("Failed to validate structured content",    InvalidOutput),
    // Python's client, of the same.
    ("Invalid structured content returned by tool ", InvalidOutput),
    // rmcp.
    ("failed to deserialize parameters: ",       InvalidInput),
    // Go.
    ("validating \"arguments\": ",               InvalidInput),
    ("invalid params: validating \"arguments\": ", InvalidInput),
    ("unknown tool \"",                          NotFound),
    // Python, FastMCP, C#.
    ("Unknown tool: ",                           NotFound),
];

/// Texts around a tool's name.
#[rustfmt::skip]
pub(super) const AROUND_A_NAME: &[(&str, &str, Class)] = &[
    // TypeScript.
    ("Tool ", " not found",                      NotFound),
    ("Tool ", " disabled",                       Disabled),
    // The clients of TypeScript and Python.
    ("Tool ", " has an output schema but did not return structured content", InvalidOutput),
];

/// Whole texts.
pub(super) const WHOLE: &[(&str, Class)] = &[
    // rmcp.
    ("tool not found", NotFound),
];

/// What SDKs write in front of a tool's own message; without one it crashed.
#[rustfmt::skip]
pub(super) const HEADLINES: &[(&str, &str)] = &[
    // Python.
    ("Error executing tool ",          ""),
    // FastMCP.
    ("Error calling tool '",           "'"),
    // C#.
    ("An error occurred invoking '",   "'"),
];

/// Messages of JSON-RPC errors, with the number under which the SDK sends them.
#[rustfmt::skip]
pub(super) const MESSAGES: &[(i64, &str, Class)] = &[
    // Go, of what its own tool answered.
    (0, "validating tool output: ", InvalidOutput),
    // FastMCP's rate limits.
    (-32000, "Rate limit exceeded for client: ", RateLimited),
];

/// Numbers that JSON-RPC gives to what [`BEGINNINGS`] and the others say in a result.
pub(super) const TEXT_NUMBERS: &[i64] = &[-32602, -32600];

/// Numbers under which a session that is gone is told: an SDK's client and server, another SDK's
/// server.
// The positive one is a slip that is in the field.
pub(super) const SESSION_LOSS_NUMBERS: &[i64] = &[-32600, -32001, 32600];
pub(super) const SESSION_LOSS: &[&str] = &["Session not found", "Session terminated"];
