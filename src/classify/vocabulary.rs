//! What servers and SDKs call things: names and nothing but names.
//!
//! A server whose names are only new names is understood by a line here; a user adds the same by
//! [`Words`](super::Words). Every shape in which they were seen has a file under `tests/corpus`.
//!
//! Words are compared without case, `_`, `-` and blanks; fields without case, `_` and `-`. Texts are
//! compared letter by letter, at the place where the SDK writes them.

use crate::failure::{
    Class::{
        self, AtCapacity, Cancelled, Crash, Disabled, Forbidden, InvalidInput, InvalidOutput,
        NotFound, Protocol, RateLimited, Timeout, Unauthorized, Unavailable, Upstream,
    },
    Delivery::{self, Executed, Refused, Unknown},
};

/// Codes of other public servers. Those of the [table](crate::failure#the-classes) are documented,
/// and stand there.
///
/// `Refused` are those alone that can only mean that the call was turned away before it ran.
#[rustfmt::skip]
pub(super) const CODES: &[(&str, Class, Delivery)] = &[
    ("too_many_requests",       RateLimited,  Refused),
    ("rate_limit_error",        RateLimited,  Refused),
    ("rate_limit_exceeded",     RateLimited,  Refused),
    ("throttling_exception",    RateLimited,  Refused),
    ("quota_exceeded",          RateLimited,  Unknown),
    ("keyless_quota_exhausted", RateLimited,  Unknown),
    ("resource_exhausted",      RateLimited,  Unknown),
    ("overloaded",              AtCapacity,   Unknown),
    ("unavailable",             Unavailable,  Unknown),
    ("upstream_unavailable",    Upstream,     Unknown),
    ("backend_unreachable",     Upstream,     Unknown),
    ("mcp_server_unreachable",  Upstream,     Unknown),
    ("timeout",                 Timeout,      Unknown),
    ("timeout_error",           Timeout,      Unknown),
    ("tool_timeout",            Timeout,      Unknown),
    ("upstream_timeout",        Timeout,      Unknown),
    ("invalid_input",           InvalidInput, Unknown),
    ("validation_error",        InvalidInput, Unknown),
    ("unauthorized",            Unauthorized, Unknown),
    ("authentication_error",    Unauthorized, Unknown),
    ("authorization_error",     Forbidden,    Unknown),
    ("internal",                Crash,        Unknown),
    ("internal_error",          Crash,        Unknown),
];

/// Numbers of JSON-RPC and MCP.
#[rustfmt::skip]
pub(super) const NUMBERS: &[(i64, Class, Delivery)] = &[
    // Rejected before anything ran, by JSON-RPC.
    (-32602, InvalidInput, Refused),
    (-32700, Protocol,     Refused),
    (-32601, Protocol,     Refused),
    (-32600, Protocol,     Refused),
    // A missing resource, until MCP 2025-11-25.
    (-32002, NotFound,     Unknown),
    (-32800, Cancelled,    Unknown),
];

/// Numbers that mean other things too, and this only together with a wait: a proposal, what servers
/// use meanwhile, and what two gateways chose for themselves.
#[rustfmt::skip]
pub(super) const NUMBERS_WITH_A_WAIT: &[(i64, Class, Delivery)] = &[
    (-32023, RateLimited, Refused),
    (-32029, RateLimited, Refused),
    (-32105, RateLimited, Unknown),
    (-33001, RateLimited, Unknown),
];

/// Fields of a code.
pub(super) const CODE: &[&str] = &["code", "errorcode", "errortype"];
/// Fields that hold one if it is a word that is known, and much else besides.
pub(super) const MAYBE_CODE: &[&str] = &["type", "status"];
pub(super) const MESSAGE: &[&str] = &["message", "error", "detail"];
/// Fields of an HTTP status.
pub(super) const STATUS: &[&str] = &["status", "statuscode", "httpstatus"];
pub(super) const RETRYABLE: &[&str] = &["retryable", "isretryable"];
/// Fields that say in a word of their own that a repeat is of no use.
pub(super) const FINAL: &[(&str, &[&str])] = &[
    ("recovery", &["terminal", "correctable"]),
    ("category", &["permanent"]),
    ("errorcategory", &["permanent"]),
];

/// Fields of a wait, by what a bare number in them counts.
pub(super) const SECONDS: &[&str] = &[
    "retryafter",
    "retryafters",
    "retryaftersec",
    "retryaftersecs",
    "retryafterseconds",
    "retryinseconds",
    "retrydelay",
    "afterseconds",
];
pub(super) const MILLISECONDS: &[&str] = &["retryafterms", "retrydelayms", "retryinms"];
pub(super) const INSTANTS: &[&str] = &["retryat", "resetat", "retrynotbefore"];

/// The object in which an envelope speaks of the call.
pub(super) const ERROR: &str = "error";
/// Objects in which it tells more of it, or of a part of what was done.
pub(super) const PARTS: &[&str] = &["data", "details"];
/// Lists whose first object is such a part.
pub(super) const PART_LISTS: &[&str] = &["errors"];
/// Lists of objects that may hold a wait.
pub(super) const HINT_LISTS: &[&str] = &["details", "errors", "next_actions"];
/// Keys of `_meta` that hold an envelope, besides our own: a proposal.
pub(super) const META: &[&str] = &["io.modelcontextprotocol/toolFailure"];

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
pub(super) const MESSAGES: &[(i64, &str, Class, Delivery)] = &[
    // Go, of what its own tool answered.
    (0, "validating tool output: ", InvalidOutput, Executed),
    // FastMCP's rate limits, which are asked before the tool.
    (-32000, "Rate limit exceeded for client: ", RateLimited, Refused),
];

/// Numbers that JSON-RPC gives to what [`BEGINNINGS`] and the others say in a result.
pub(super) const TEXT_NUMBERS: &[i64] = &[-32602, -32600];

/// Numbers under which a session that is gone is told: an SDK's client and server, another SDK's
/// server.
// The positive one is a slip that is in the field.
pub(super) const SESSION_LOSS_NUMBERS: &[i64] = &[-32600, -32001, 32600];
pub(super) const SESSION_LOSS: &[&str] = &["Session not found", "Session terminated"];
