//! The names that servers and SDKs use.
//!
//! To support a server whose names alone are new, add a line here. A user adds the same by
//! [`Vocabulary`](super::Vocabulary). Every shape in which the names were seen has a file under `tests/corpus`.
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
/// and are there.
///
/// None of them says that the call did not run. Most come from an API behind a tool, and the tool
/// may have had an effect before. If the codes of a server mean its own calls, add them by
/// [`Vocabulary::refusal_code`](super::Vocabulary::refusal_code).
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
    // Our own, of a server that honours keys. An earlier attempt may run, so none is a refusal.
    ("idempotency_in_flight",   Unavailable),
    ("idempotency_unknown",     Unavailable),
    ("idempotency_not_kept",    Unavailable),
    ("idempotency_store_full",  Unavailable),
    ("idempotency_conflict",    InvalidInput),
    ("idempotency_key_invalid", InvalidInput),
    ("idempotency_key_required", InvalidInput),
    ("internal",                Crash),
    ("internal_error",          Crash),
];

/// Codes that mean by definition that a call was refused before it ran.
pub(super) const REFUSALS: &[&str] = &["rate_limited", "at_capacity", "service_unavailable"];

/// The code that its server documents as safe to repeat, in an envelope with an `error` and a
/// `status` of at least this value.
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

/// The number of a proposal for rate limits. By definition it is a refusal, and it has a wait.
pub(super) const RATE_LIMITED: i64 = -32023;

/// Numbers with other meanings, which mean this only together with a wait: of a proposal, of
/// servers until it is accepted, and of two gateways.
pub(super) const NUMBERS_WITH_A_WAIT: &[i64] = &[RATE_LIMITED, -32029, -32105, -33001];

/// Fields of a code.
pub(super) const CODE: &[&str] = &["code", "errorcode", "errortype"];
/// Fields that hold a code if it is a known word, and other things besides.
pub(super) const MAYBE_CODE: &[&str] = &["type", "status"];
pub(super) const MESSAGE: &[&str] = &["message", "error", "detail"];
/// Fields of an HTTP status.
pub(super) const STATUS: &[&str] = &["status", "statuscode", "httpstatus"];
pub(super) const RETRYABLE: &[&str] = &["retryable", "isretryable"];
/// Fields that count only for "no": for "yes" they are too vague.
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
/// Fields that say by a word that a repeat is useless.
pub(super) const FINAL: &[(&str, &[&str])] = &[
    ("recovery", &["terminal", "correctable"]),
    ("category", &["permanent"]),
    ("errorcategory", &["permanent"]),
];

/// Fields of a wait. Alone, a number in them is in seconds; else their name ends in the unit.
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
/// They are fields of a wait only with a unit.
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
/// The endings of these names. No single letters: `retryDelays` is a list of settings.
#[rustfmt::skip]
pub(super) const UNITS: &[(&str, Unit)] = &[
    ("ns",           Unit::Nanoseconds),
    ("nanos",        Unit::Nanoseconds),
    ("nanoseconds",  Unit::Nanoseconds),
    ("us",           Unit::Microseconds),
    ("micros",       Unit::Microseconds),
    ("microseconds", Unit::Microseconds),
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
    ("day",          Unit::Days),
    ("days",         Unit::Days),
];

/// The object in which an envelope speaks of the call.
pub(super) const ERROR: &str = "error";
/// Objects with more about the call, or about a part of the work.
pub(super) const PARTS: &[&str] = &["data", "details"];
/// Lists whose first object is such a part.
pub(super) const PART_LISTS: &[&str] = &["errors"];
/// Lists of objects that may hold a wait.
pub(super) const HINT_LISTS: &[&str] = &["details", "errors", "next_actions"];
/// Keys of `_meta` with an envelope: our own, and a proposal's. No other key speaks of the call.
pub(super) const META: &[&str] = &[META_KEY, "io.modelcontextprotocol/toolFailure"];

/// Beginnings of texts.
#[rustfmt::skip]
pub(super) const BEGINNINGS: &[(&str, Class)] = &[
    // TypeScript 1 and 2, the former behind `MCP error -32602: `.
    ("Input validation error: ",                 InvalidInput),
    ("Output validation error: ",                InvalidOutput),
    // The clients of these, about a server's answer.
    ("Structured content does not match the tool's output schema", InvalidOutput),
    ("Failed to validate structured content",    InvalidOutput),
    // Python's client, about the same.
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

/// The prefixes that SDKs write before a tool's own message. Without a message, the tool crashed.
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
    // Go, about the answer of its own tool.
    (0, "validating tool output: ", InvalidOutput),
    // FastMCP's rate limits.
    (-32000, "Rate limit exceeded for client: ", RateLimited),
];

/// Numbers that JSON-RPC gives to what [`BEGINNINGS`] and the others mean in a result.
pub(super) const TEXT_NUMBERS: &[i64] = &[-32602, -32600];

/// Numbers of a lost session: an SDK's client and server, another SDK's server. Some deployed servers
/// omit the minus sign.
pub(super) const SESSION_LOSS_NUMBERS: &[i64] = &[-32600, -32001, 32600];
pub(super) const SESSION_LOSS: &[&str] = &["Session not found", "Session terminated"];
