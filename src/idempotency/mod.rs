//! Runs a call with a key once, and answers its repeats with the first answer.
//!
//! If the answer of a call is lost, the client can neither repeat the call nor trust it. With this
//! layer, the server knows the call again. The caller gives the call a key, the same for all its
//! attempts. The layer claims the key in a [store], runs the call, keeps its outcome, and answers
//! later attempts from the store. This works across lost connections, and with a suitable store
//! across restarts and replicas.
//!
//! | A call comes with a key that | This layer |
//! |---|---|
//! | is new | claims it, runs the call, keeps the outcome, answers |
//! | is running, here or on another replica | waits for that run; after 55 s fails with [`codes::IN_FLIGHT`]: `Unavailable`, not sent, and a wait |
//! | is done, with the same tool and arguments | answers with the kept outcome, field for field, marked by [`REPLAYED_META`] in `_meta` and by `replayed` in the log |
//! | was used with another tool, other arguments, or other input for the same round | fails with [`codes::CONFLICT`]: `InvalidInput` |
//! | was claimed by a run that died | runs it again if the tool may run twice, else fails with [`codes::UNKNOWN`]: it may have run |
//! | belongs to a call that asks for input | takes each round by itself: see [below](#rounds) |
//! | is done, and its answer was too large to keep, or cannot be read | fails with [`codes::NOT_KEPT`]: it has run |
//! | is invalid | fails with [`codes::INVALID_KEY`]: `InvalidInput` |
//!
//! A call without a key passes, unless its tool [requires one](IdempotencyBuilder::require_key). So
//! do resources and prompts, since reading may happen twice. While the store cannot be reached,
//! nothing runs: `Unavailable`, not sent. [`run_unprotected`](IdempotencyBuilder::run_unprotected)
//! runs calls without protection instead. While the store is full, a new key fails at once with
//! [`codes::STORE_FULL`]: `Unavailable`, not sent, and a wait of 60 s.
//!
//! # What is promised
//!
//! - A tool that may not run twice has at most one run for each key of an identity and each round, as long
//!   as the outcome of that round is kept.
//! - Each answer is the answer of that run.
//! - A lost outcome is *unknown*. It is never repeated, and never taken for a success.
//!
//! **What is not promised.** An effect outside the store and the record of it are two things. If the
//! process dies between the two, the call is *unknown*: the store cannot know on which side it died.
//! The lease of the claim ends, and later attempts fail with [`codes::UNKNOWN`]. Then a person has to
//! look, and the host [settles](IdempotencyHandle) the call: it ran, with this answer, or it did not
//! run.
//!
//! A tool closes that gap with the key itself. It passes the key to a service that honours keys (as
//! Stripe does), or writes it in the transaction of its effect. Such a tool may run twice, and says
//! so (`idempotentHint`). Then a run that died is repeated.
//!
//! # The end of a run
//!
//! | The run ends with | The key is |
//! |---|---|
//! | a result, flagged or not; a request for input; a task | done: later attempts get it |
//! | a failure of the tool, of its input or output; a crash; an error of the protocol | done: later attempts get it |
//! | a failure that says that the call did not run ([`NotSent`](crate::Delivery::NotSent), [`Refused`](crate::Delivery::Refused)) | new again |
//! | a failure of the connection, of time, or of the process, after which the call may have run | unknown |
//! | a cancellation | unknown |
//!
//! # Rounds
//!
//! A tool may ask for input instead of answering. The call is then made again with the same key and
//! arguments, and with `inputResponses` and the `requestState` of that answer. Each such round has a
//! record of its own, and runs once.
//!
//! The layer numbers the rounds. It puts the number of the next round in front of the `requestState` of
//! an answer that asks for input, and adds a state if there is none. A client sends the state back as it
//! is. The layer takes the number off again, so that the tool gets the state that it issued. So a server
//! may ask twice under the same state, or without one, and be given the same input twice.
//!
//! | A call continues with | This layer |
//! |---|---|
//! | the state of a round that did not run | runs that round, also if the earlier ones are forgotten |
//! | the same state and input as a round that ran | answers with the outcome of that round |
//! | other input for a round that ran or runs, or another state under its number | fails with [`codes::CONFLICT`] |
//! | a state without a number: another server answered the round before, or it had no key | runs that round once for this state, and numbers those after it |
//!
//! No round is repeated because of the tool's hints. [Settling](IdempotencyHandle) a call settles the
//! round that is unknown.
//!
//! All replicas need the layer: a tool without it gets the state with the number. Answers of calls
//! without a key have no numbers.
//!
//! # Keys
//!
//! A key has 1 to 255 visible ASCII characters. The layer looks for it in this order:
//!
//! 1. [`KEY_META`](crate::call::KEY_META) in `params._meta`;
//! 2. `idempotencyKey`, `idempotency-key` or `idempotency_key` there;
//! 3. the same in an argument `meta`;
//! 4. the header `Idempotency-Key` of the HTTP request;
//! 5. the [argument](IdempotencyBuilder::argument) that is named for the tool.
//!
//! The key comes from the host, which knows that two attempts are one call. A model would invent a
//! new key each time.
//!
//! # Who sees whose answers
//!
//! Keys belong to an identity, by default the value of the request's `Authorization`. Another
//! identity with the same key has another record, and gets neither the answer nor a hint. **Callers
//! without `Authorization` are one identity**: with the key, they get the answer. Random keys cannot
//! be guessed; for other keys, set [`scope`](IdempotencyBuilder::scope). A renewed token is a new
//! identity: use the subject of the token then.
//!
//! A store holds hashes of identities, keys and arguments, and the answers as they are.
//!
//! # Cancellation
//!
//! A dropped call may only have lost its connection. So its run goes on to its end, and the next
//! attempt finds the outcome. The run belongs to the layer: its [`IdempotencyHandle`] waits for such
//! runs, they have a [limit](IdempotencyBuilder::run_limit), and they are dropped with the layer. A
//! call that only waits for another run is dropped. An explicit cancellation
//! ([`Cancellation`](crate::call::Cancellation)) stops the call; if it had begun, its outcome is
//! unknown.
//!
//! # Defaults
//!
//! | Setting | Default | Set by |
//! |---|---|---|
//! | outcomes are kept for | 24 h from the end of the run | [`keep`](IdempotencyBuilder::keep) |
//! | a claim holds without a renewal for | 30 s; a run renews it every 10 s | [`lease`](IdempotencyBuilder::lease) |
//! | a call waits for another run | 55 s | [`wait`](IdempotencyBuilder::wait) |
//! | a call waits for the store | 5 s; at the end of a run 30 s | [`store_timeout`](IdempotencyBuilder::store_timeout) |
//! | a run without a caller goes on for | 1 h | [`run_limit`](IdempotencyBuilder::run_limit) |
//! | the largest outcome | 1 MiB | [`max_outcome`](IdempotencyBuilder::max_outcome) |
//! | a store that cannot be reached | nothing runs | [`run_unprotected`](IdempotencyBuilder::run_unprotected) |
//! | a key is required | for no tool | [`require_key`](IdempotencyBuilder::require_key) |
//! | identity | [`ToolCall::identity`](crate::call::ToolCall::identity) | [`scope`](IdempotencyBuilder::scope) |
//!
//! # The capability of a server
//!
//! A server on rmcp has the experimental capability `io.crates.mcp-resilience/idempotency`, an
//! object:
//!
//! | Member | Is |
//! |---|---|
//! | `key` | the name of the key in `_meta` |
//! | `store` | a name that no other server has, if the records end with the process ([`Store::outlives_process`]) |
//! | `identity` | `stable`, if a caller is not identified by its `Authorization`. For a client that renews its token, only such a server honours keys |
//!
//! A client repeats a call because of this capability only on a server with the same values: a
//! restarted server with a store in memory does not know what ran before.
//!
//! # The format of a store
//!
//! The name of a record is the SHA-256 of these bytes:
//!
//! 1. a byte 1 if there is an identity, else a byte 0; the length of the identity as 8 bytes
//!    (big-endian), which is 0 without one; and the identity;
//! 2. the length of the key as 8 bytes (big-endian), and the key;
//! 3. if the first round that was seen came with a `requestState`, the first 16 bytes of the SHA-256 of
//!    that state in a canonical form;
//! 4. for a later round, its number from 1 on, as 4 bytes (big-endian).
//!
//! The value of a finished call has a version, which is 1, and bytes. They are `R` and the result as
//! JSON, as on the wire; or `F` and an object with `class`, `message`, `has_run`, and if known
//! `code`, `retry_after_ms` and the JSON-RPC `error`. An answer that is not kept has no bytes.
//!
//! On the wire, a `requestState` with a number is `io.crates.mcp-resilience/round=`, the number of the
//! round that it leads to, and `;` with the state of the tool, if it issued one. Between the number and
//! `;` stand `.` and the 16 bytes of point 3 in hexadecimal, if the record has them.
//!
//! # When to use it
//!
//! On a server, between [`call_log`](crate::call_log) and [`is_error`](crate::is_error), so that it
//! keeps what the caller sees;
//! [`ResilienceBuilder::idempotency`](crate::preset::ResilienceBuilder::idempotency) puts it there.
//! Tools that only read need no key.
//!
//! # Example
//!
//! ```
//! use mcp_resilience::{Failure, idempotency::IdempotencyLayer};
//! # use mcp_resilience::{call::{Flagged, KEY_META, ToolCall, ToolResult}, failure::BoxError, idempotency::StoredResult};
//! # use serde_json::{Map, Value, json};
//! use tower::{Service, ServiceBuilder, ServiceExt};
//! # struct Call { meta: Map<String, Value> }
//! # impl Call {
//! #     fn with_key(key: &str) -> Self {
//! #         Call { meta: Map::from_iter([(KEY_META.to_owned(), json!(key))]) }
//! #     }
//! # }
//! # impl ToolCall for Call {
//! #     fn name(&self) -> &str { "book" }
//! #     fn meta(&self) -> Option<&Map<String, Value>> { Some(&self.meta) }
//! # }
//! # #[derive(Debug, PartialEq)]
//! # struct Answer(u32);
//! # impl ToolResult for Answer {
//! #     fn is_error(&self) -> bool { false }
//! #     fn flag(&mut self) {}
//! #     fn from_failure(_: Flagged) -> Option<Self> { None }
//! # }
//! # impl StoredResult for Answer {
//! #     fn encode(&self) -> Result<Vec<u8>, BoxError> { Ok(self.0.to_be_bytes().to_vec()) }
//! #     fn decode(bytes: &[u8]) -> Result<Self, BoxError> { Ok(Answer(u32::from_be_bytes(bytes.try_into()?))) }
//! #     fn mark_replayed(&mut self) {}
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Failure> {
//!
//! use std::sync::{Arc, atomic::{AtomicU32, Ordering::Relaxed}};
//!
//! let booked = Arc::new(AtomicU32::new(0));
//! let mut tools = ServiceBuilder::new()
//!     .layer(IdempotencyLayer::new())
//!     .service_fn(move |_: Call| {
//!         let seat = booked.fetch_add(1, Relaxed);
//!         async move { Ok::<_, Failure>(Answer(seat)) }
//!     });
//!
//! let first = tools.ready().await?.call(Call::with_key("order-123")).await?;
//! let again = tools.ready().await?.call(Call::with_key("order-123")).await?;
//! assert_eq!(first, again);
//! # Ok(())
//! # }
//! ```

mod builder;
mod canonical;
#[cfg(any(feature = "rmcp", feature = "rmcp-client", feature = "tower-mcp"))]
pub(crate) mod capability;
mod config;
mod failures;
mod fingerprint;
mod future;
mod handle;
mod layer;
mod outcome;
mod phase;
mod record_id;
mod round;
mod run;
mod service;
pub mod store;
mod stored_result;

pub use self::{
    builder::{IdempotencyBuilder, InvalidIdempotency},
    failures::codes,
    fingerprint::Fingerprint,
    future::ResponseFuture,
    handle::IdempotencyHandle,
    layer::{HearsKeys, IdempotencyLayer},
    record_id::RecordId,
    service::{Idempotency, NoKeys},
    store::{MemoryStore, Store},
    stored_result::{REPLAYED_META, StoredResult},
};
