//! Observes the decisions of the layers: repeats, limits, connections, the end.
//!
//! A layer reports each decision as an [`Event`] to an [`Observer`]. An observer is a type of yours,
//! or a closure over `&Event<'_>`. Give it to the
//! [preset](crate::preset::ResilienceBuilder::observer) once, or to single layers.
//!
//! | Event | Reported by | When |
//! |---|---|---|
//! | [`RetryScheduled`](Event::RetryScheduled) | [`retry`](crate::retry) | an attempt failed, and another follows after a wait |
//! | [`CallHeld`](Event::CallHeld) | `retry` | an attempt waits at the [shared gate](crate::retry::RetryAfterGate) |
//! | [`GaveUp`](Event::GaveUp) | `retry` | a call fails, and waiting might have helped; says [why](crate::failure::Stopped) |
//! | [`BudgetRefused`](Event::BudgetRefused) | `retry` | the budget does not pay for a repeat; `GaveUp` follows |
//! | [`LimitReached`](Event::LimitReached) | `retry`, [`timeout`](crate::timeout) | a call ran into a limit of time; has the setting |
//! | [`ResultFlagged`](Event::ResultFlagged) | [`is_error`](crate::is_error) | a result without a flag was a failure, and was flagged |
//! | [`HeartbeatSent`](Event::HeartbeatSent) | the adapter of a server | the server [told](crate::rmcp#progress) the client of a silent or waiting call that the call is alive |
//! | [`Dialing`](Event::Dialing) | [`reconnect`](crate::reconnect) | a dial begins |
//! | [`DialFailed`](Event::DialFailed) | `reconnect` | a dial failed |
//! | [`Connected`](Event::Connected) | `reconnect` | a dial made a connection; from generation 2 on, the connection is back |
//! | [`ConnectionLost`](Event::ConnectionLost) | `reconnect` | a failure retires a connection |
//! | [`ProbeStarted`](Event::ProbeStarted), [`ProbeFailed`](Event::ProbeFailed) | `reconnect` | a connection is [probed](crate::reconnect#probes) |
//! | [`Shut`](Event::Shut) | [`fatal`](crate::fatal) | the stack shuts, once |
//!
//! A failure that waiting does not help, such as `NotFound`, is no event. It is in the
//! [log](crate::call_log).
//!
//! # Defaults
//!
//! Without an observer, the layers write [`TracingEvents`]. An observer replaces that. To have both,
//! [combine](Observer::and) them: `TracingEvents.and(observer)`.
//!
//! Reports that are not decisions always go to `tracing`: panics, crashes in a stack without a log,
//! lines that an adapter cannot read, and policies for tools that a server does not list.
//!
//! # When to use it
//!
//! For metrics and alerts on decisions, while a call is still running. For one record of each
//! finished call, use the [log](crate::call_log).
//!
//! # How an observer is called
//!
//! - It is called on the task that decides, outside all locks. A slow observer delays that task:
//!   count, or send into a channel, and return.
//! - It gets borrowed data, and an event allocates nothing. With an observer of yours, three places
//!   copy a name: `retry` that of a call without a further attempt, `timeout` that of each call, and
//!   the adapter that of each call with a progress token.
//! - A panic in it is caught, and the call goes on. The first panic is reported by `tracing`.
//! - Events of one call, and of one dial, come in order. A connection is already in use when
//!   `Connected` is reported, so on several threads a call may have lost it before.
//! - Dropping a call is no event, and neither is a dropped connection or a
//!   [shutdown](crate::reconnect::ReconnectHandle::shutdown).
//!
//! Texts and names in an event come from outside. [`Failure::chain`](crate::Failure::chain) is masked
//! and fit for a log. The name of a call is as its caller gave it.
//!
//! # Example
//!
//! Counts the repeats of each tool:
//!
//! ```
//! use mcp_resilience::{
//!     Failure, ResilienceLayer,
//!     observe::{Event, Observer, TracingEvents},
//! };
//! # use mcp_resilience::call::{Flagged, Hints, ToolCall, ToolResult};
//! # #[derive(Clone)]
//! # struct Call;
//! # impl ToolCall for Call {
//! #     fn name(&self) -> &str { "quote_price" }
//! #     fn hints(&self) -> Hints { Hints::new().read_only(true) }
//! # }
//! # struct Answer;
//! # impl ToolResult for Answer {
//! #     fn is_error(&self) -> bool { false }
//! #     fn flag(&mut self) {}
//! #     fn from_failure(_: Flagged) -> Option<Self> { None }
//! # }
//! use std::{collections::HashMap, sync::{Arc, Mutex}};
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! #[derive(Default)]
//! struct Repeats(Mutex<HashMap<String, u32>>);
//!
//! impl Observer for Repeats {
//!     fn on_event(&self, event: &Event<'_>) {
//!         if let Event::RetryScheduled { call, .. } = event {
//!             let mut counts = self.0.lock().unwrap();
//!             *counts.entry(call.name().to_owned()).or_default() += 1;
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), tower::BoxError> {
//! let repeats = Arc::new(Repeats::default());
//! let resilience = ResilienceLayer::builder()
//!     .observer(TracingEvents.and(Arc::clone(&repeats)))
//! #   .log(mcp_resilience::call_log::CallLogLayer::off())
//!     .build()?;
//! let tools = ServiceBuilder::new()
//!     .layer(resilience)
//!     .service_fn(async |_: Call| Err::<Answer, _>(Failure::unavailable(None)));
//!
//! assert!(tools.oneshot(Call).await.is_err());
//! assert_eq!(repeats.0.lock().unwrap()["quote_price"], 2);
//! # Ok(())
//! # }
//! ```

mod call;
mod event;
mod observer;
mod observers;
mod tracing_events;

pub use self::{
    call::CallRef,
    event::Event,
    observer::{And, Observer},
    tracing_events::TracingEvents,
};
pub(crate) use self::{call::Name, observers::Observers};
pub use crate::ledger::CallId;
