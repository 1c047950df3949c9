//! One line of JSON for every call.
//!
//! A success, a failure, a panic, a dropped future: each call leaves exactly one line, in one
//! `write`. This is the line of a call that was repeated, wrapped here:
//!
//! ```json
//! {"timestamp":"2026-11-30T10:00:03.214Z","level":"WARN","event":"call","method":"tools/call",
//!  "tool":"quote_price","arguments":{"title":"Dune"},"outcome":"success","is_error":false,
//!  "retried":true,"attempts":2,"latency_ms":1214,"waited_ms":1207,
//!  "retries":[{"class":"rate_limited","code":"rate_limited","wait_ms":1207}],
//!  "call_id":"5f0c4a2b9d1e8f37","request_id":4}
//! ```
//!
//! and this is one of a tool that crashed:
//!
//! ```json
//! {"timestamp":"2026-11-30T10:00:04.020Z","level":"ERROR","event":"call","method":"tools/call",
//!  "tool":"get_author","arguments":{"title":"Dune","api_key":"[masked]"},"outcome":"failed",
//!  "is_error":true,"retried":false,"attempts":1,"latency_ms":2,"waited_ms":0,"class":"crash",
//!  "delivery":"unknown","error":"failed unexpectedly: cannot read prices: permission denied",
//!  "call_id":"0b7d3c5e91a2f648","request_id":5}
//! ```
//!
//! # The fields
//!
//! The fields are a contract, with a JSON Schema: [`LINE_SCHEMA`]. New fields may be added. Renaming
//! or removing a field, or changing its type, is a breaking change. An unknown value is left out; it
//! is never `null` or `"None"`.
//!
//! | Field | Type | Is |
//! |---|---|---|
//! | `timestamp` | string | when the call ended, RFC 3339 in UTC, with milliseconds |
//! | `level` | string | `INFO` for a success and a tool's own error, `WARN` for a repeated call and for failures on the way, `ERROR` for a crash or a fatal failure; see the [table](crate::failure#the-classes) |
//! | `event` | string | `call`; `lines_lost` for the [report](JsonLines) of lost lines, which has `timestamp`, `level` and `lost`, a number |
//! | `method` | string | `tools/call`, `resources/read` or `prompts/get` |
//! | `tool`, `uri` or `prompt` | string | what was called |
//! | `arguments` | any JSON | numbers digit for digit as the SDK read them, values that JSON lacks (NaN) as `null`; secrets masked ([`ArgumentLogging`]) |
//! | `outcome` | string | `success`, `failed`, `cancelled` (the call was dropped), or `interim` (the server asks for input, or made a task of the call) |
//! | `is_error` | boolean | the flag of a tool's result; absent if there is no result |
//! | `retried` | boolean | whether there was more than one attempt |
//! | `attempts` | integer, from 1 | how many attempts there were |
//! | `latency_ms` | integer | from the start of the call to its end, waits included, by a monotonic clock |
//! | `waited_ms` | integer | the waits in it; the rest is the attempts |
//! | `held_ms` | integer | the share of `waited_ms` at the [shared gate](crate::retry::RetryAfterGate), if there was one: for what the server had asked of other calls |
//! | `class` | string | the [kind of the failure](crate::failure#the-classes) |
//! | `code` | string or integer | the server's own code for it |
//! | `delivery` | string | how far the call got: `not_sent`, `refused`, `unknown`, `executed` |
//! | `retry_after_ms` | integer | how long the server asked to wait |
//! | `retry_stopped` | string | [why it was not repeated](crate::failure::Stopped), although waiting might have helped |
//! | `retries` | array of objects | each attempt that was followed by a wait: `class`, `code`, `wait_ms`; after 16 of them the string `…` |
//! | `unflagged` | `true` | the result was a failure without a flag, and was flagged here |
//! | `replayed` | `true` | the answer comes from the store of [idempotency](crate::idempotency) keys |
//! | `error` | string | the failure with all its sources; of a flagged result, its first text |
//! | `call_id` | string, 16 hexadecimal digits | this call; the model reads the same id for a crash |
//! | `request_id` | string or number | JSON-RPC's |
//! | `session_id` | string | MCP's |
//! | `trace_id` | string, 32 hexadecimal digits | the trace of the active span (feature `otel`); without one, that of a W3C `traceparent` in `_meta` |
//! | `span_id` | string, 16 hexadecimal digits | the active span (feature `otel`) |
//!
//! An outcome of `success` has no `class` and no `error`. `retried` is `attempts > 1`. `code`, `delivery`,
//! `retry_after_ms` and `retry_stopped` come with a `class`.
//!
//! Behind a layer that spawns, the line has the attempts too if that layer calls the inner service
//! before it spawns, or if the call has a [`Progress`](crate::call::Progress), as those of the
//! adapters have. Behind a queue, a call without one shows only the attempts of failures.
//!
//! # Secrets
//!
//! Every text from outside passes one function before it is written: arguments, names, codes, errors
//! and ids, on the line, in events and in attributes of spans. The function puts `[masked]` in the
//! place of
//!
//! - **values under the name of a secret**, at any depth: `password`, `API-Key`, `githubToken`,
//!   `connection_string`, …; also `{"name": "X-Api-Key", "value": …}` and `["--password", …]`. Case
//!   and separators do not matter. Names that only describe a secret (`max_tokens`,
//!   `password_policy`) are left alone;
//! - **texts with the shape of a secret**: `Bearer` and `Basic` credentials, headers, `password=…`
//!   and `"password": …` (also in escaped JSON, and as a block of YAML), PEM blocks except public
//!   ones;
//! - **user information and parameters of URLs**, and **tokens of known issuers** by their beginning
//!   (`ghp_`, `AKIA`, JWTs, …);
//! - **values that were masked in the arguments of this call**, wherever they are quoted: as they
//!   are, escaped as in JSON or HTML, or percent-encoded. So are their lines, the credential after a
//!   scheme, and the password after a user. A value of less than four characters is masked only as a
//!   word of its own. A cut value is recognized by its first six characters.
//!
//! Some texts belong to no call: what a child process writes to stderr, an event of a background
//! task, the reason for the end of the process. There, the values of all calls count that run or
//! ended in the last ten seconds.
//!
//! After the name of a password in a sentence (`the password is …`, `pin …`, `set password to …`),
//! letters with digits or signs are a secret, and so is a number where numbers are usual. Words of
//! letters alone are a secret only in quotes or brackets: "the password is wrong" stays readable. A
//! text that would take too long to read is masked from there on.
//!
//! Then [`redact`](CallLogLayer::redact) gets the text. **Masking is not complete:** a secret of an
//! unknown form passes, and so does one in Base64 or split over several texts. The result for the
//! model and the arguments of the tool are never changed.
//!
//! # Limits
//!
//! 256 bytes for a name or an id, 4 KiB each for `arguments` and `error`, 16 entries of `retries`, 16
//! KiB for the line. Longer values are cut (`…`), and the line stays valid JSON.
//!
//! # Where it goes
//!
//! To stderr by default. **stdout is MCP's stdio transport: never log there.** A [`Sink`] may be
//! [`JsonLines`] over any writer, [`TracingEvents`], a closure, or your own type. [`Sink::and`] and
//! [`Sink::filter`] combine them. [The guide](crate::guide::logs) shows files that rotate, and how to
//! query them.
//!
//! Behind `JsonLines`, a writer that is slow, full, closed or broken neither delays nor fails a call.
//! Lost lines are [counted](JsonLines::lost). The first loss is reported as a `tracing` event. Once
//! the writer works again, a line says how many are missing. A panic in a sink is caught.
//!
//! A lost line never fails a call, because the tool has run by then, and a failure would only let it
//! run again. To stop serving when logging fails, watch that count, or write a sink that
//! [shuts](crate::fatal::FatalHandle::shut) the stack.
//!
//! Every call also runs in a span of `tracing`; see [`telemetry`](crate::telemetry).
//!
//! # When to use it
//!
//! Outermost, so that it sees what the caller sees, and how a dropped call ended. It changes nothing.
//!
//! # Example
//!
//! ```
//! use mcp_resilience::call_log::{ArgumentLogging, CallLogLayer, JsonLines};
//! use std::io;
//!
//! let sink = JsonLines::new(io::stderr());
//! let layer = CallLogLayer::new(sink.clone()).arguments(ArgumentLogging::Shape);
//! # let _ = layer;
//! assert_eq!(sink.lost(), 0);
//! ```

mod arguments;
mod clock;
mod combined;
mod entry;
mod future;
mod json;
mod json_lines;
mod layer;
mod line;
mod queue;
mod record;
mod secret_members;
mod service;
mod sink;
mod span;
mod tracing_events;
mod writer;

pub use self::{
    arguments::ArgumentLogging,
    combined::{And, Filtered},
    future::ResponseFuture,
    json_lines::JsonLines,
    layer::CallLogLayer,
    record::{Outcome, Record},
    service::CallLog,
    sink::Sink,
    tracing_events::TracingEvents,
};
pub use crate::ledger::Retried;

/// The [JSON Schema] (2020-12) of a line: the fields, and which of them go together.
///
/// The tests of this crate check every line against it. It is also a file of the package,
/// `src/call_log/line.schema.json`.
///
/// [JSON Schema]: https://json-schema.org/draft/2020-12/schema
pub const LINE_SCHEMA: &str = include_str!("line.schema.json");
