//! Repeats a call, if a repeat is safe and waiting may help.
//!
//! # The gate
//!
//! A call is repeated only if it did not run, or if the server or the user said that it may run
//! twice:
//!
//! | The failure | Repeated |
//! |---|---|
//! | says `retryable: false`, or an inner layer gave it up | never |
//! | of a class that waiting does not help ([table](crate::failure)) | never |
//! | did not run ([`Delivery::NotSent`], [`Delivery::Refused`]), by [a source that knows](crate::failure#whether-the-tool-ran) | yes |
//! | may have run, but has a key, and the server [runs it once](crate::call::ToolCall::runs_once) | yes |
//! | may have run, and its [policy](crate::policy), or else [`repeat_ok`], is `false` for the tool | no, as below |
//! | may have run, but the tool is read-only or idempotent, or its policy, or else [`repeat_ok`], is `true` | yes |
//! | may have run, but says `retryable: true` in a structured envelope of the call, or has a code that is documented as safe to repeat | yes |
//! | may have run | no; the failure has [`Stopped::MayHaveRun`], and the model is asked to verify first |
//!
//! [`override_verdict`] is applied last. It may stop any repeat. It may permit one for a tool that
//! it names, if waiting may help.
//!
//! `Clone` of the request only makes a repeat possible; it does not permit one.
//!
//! Waiting does not help a [`Tool`](crate::Class::Tool) failure, unless it says `retryable: true`. A
//! call whose session the server lost is repeated once.
//!
//! # The wait
//!
//! | | wait before repeat `n` |
//! |---|---|
//! | without a hint | `U(0, min(cap, base · 2^(n-1)))` |
//! | with a hint `R` | `R + U(0, max(R/2, min(cap, base · 2^(n-1))))` |
//!
//! A call that was lost with a [stable](crate::reconnect#stable-connections) connection is repeated at
//! once, because [`reconnect`](crate::reconnect) does the waiting, with one dial for all calls. It
//! costs none of the budget, since it happens to all calls at the same time. The same holds for a
//! lost session. It does not hold for a timeout, nor if the next connection fails too.
//!
//! The cap bounds only what is drawn: hints have a maximum of their own. A hint is a floor, and
//! jitter is added on top. A hint of zero is no hint. A wait that does not fit is not started, and
//! neither is one for a hint above [`max_retry_after`]. Then the failure goes up at once with the
//! hint, and with the reason ([`Stopped`](crate::failure::Stopped)). A hint is never shortened,
//! because a call that comes back early is refused again.
//!
//! A hint holds for the call that got it. With a [`RetryAfterGate`], it holds for all calls to the
//! same tool or server, which then go out one by one.
//!
//! # The retry window and the deadline
//!
//! | | Retry window | Deadline |
//! |---|---|---|
//! | bounds | when waits and further attempts may begin | how long the whole call may go on |
//! | a running attempt | goes on; its own [timeout](crate::timeout) bounds it | is dropped |
//! | counts from | the first poll of the call | the same, and again from each report of [progress](crate::call::Progress), up to the [`ceiling`] |
//! | a wait or an attempt that does not fit | is not started: [`Stopped::Window`] | is not started: [`Stopped::Deadline`] |
//!
//! A call that ran into the limit of an attempt is not repeated if the window leaves less than that
//! limit after the wait. Waiting for the readiness of a later attempt ends with the window.
//!
//! The deadline follows progress because the caller does: a client that resets its clock on progress
//! does not hang up. For a call that reports nothing, the deadline is the longest that it may take.
//! The window does not follow progress.
//!
//! # The budget
//!
//! The repeats of all tools are paid from one budget: a share of the calls that succeed, plus a
//! number per second.
//!
//! Each tool has a share of its own in it, so that a broken tool does not use up the budget of the
//! others. The share is half of a full budget, and after that what the tool's own successes pay. A
//! tool gets its share even if the budget is empty, and the budget then owes it: in the long run
//! there are no more repeats than the settings say.
//!
//! The first 256 tools that fail have shares. Further tools have one together, and so have all
//! resources and all prompts. A [policy](crate::policy) may give a tool a budget of its own.
//!
//! # Defaults
//!
//! | Setting | Default | Set by |
//! |---|---|---|
//! | attempts in all | 3 | [`max_attempts`] |
//! | waits | [`Backoff`](crate::backoff::Backoff): 1 s, doubled up to 30 s, full jitter | [`backoff`], [`waits`] |
//! | retry window | 55 s, since callers hang up at 60 s; the deadline, if only that is set | [`retry_window`] |
//! | deadline of the whole call | none | [`deadline`] |
//! | ceiling of a deadline that follows progress | 1 h, or the deadline if that is longer | [`ceiling`] |
//! | longest hint to wait for | 5 min, or the retry window if that is shorter | [`max_retry_after`] |
//! | budget: how many repeats, over all clones | 20 % of the calls that succeed, plus 1 per second, 10 at once | [`budget`] |
//! | other settings for single tools | none | [`policies`] |
//! | the last word on a repeat | none | [`override_verdict`] |
//! | one call's hint holds for all: [`RetryAfterGate`] | no | [`retry_after_gate`] |
//! | [observer](crate::observe) | `TracingEvents` | [`observer`] |
//!
//! # When to use it
//!
//! Outside [`classify`](crate::classify) and all layers that limit concurrency, so that no permit
//! is held while it waits. Inside [`is_error`](crate::is_error), because this layer does not see a
//! flagged result as a failure. Two of these layers in a stack do no harm: the outer one does not
//! repeat a call that the inner one gave up.
//!
//! # Without `classify`
//!
//! This layer believes every claim of a [`Failure`](crate::Failure) about whether the call ran.
//! [`classify`](crate::classify) resets claims about another call. A tool may use a stack or a
//! connection of its own, and pass on its failure with `?`. Without `classify` in between, such a
//! tool **runs again although it has done half its work**. So without `classify`, convert those
//! errors to new failures in the tool.
//!
//! # Cancellation
//!
//! Dropping the future stops everything at once, in an attempt or in a wait.
//!
//! # Example
//!
//! ```
//! use mcp_resilience::{Failure, retry::RetryLayer};
//! # use mcp_resilience::call::ToolCall;
//! use std::{cell::Cell, time::Duration};
//! use tower::{Service, ServiceBuilder, ServiceExt};
//! # #[derive(Clone)]
//! # struct Call;
//! # impl ToolCall for Call {
//! #     fn name(&self) -> &str { "quote_price" }
//! # }
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Failure> {
//!
//! let is_busy = Cell::new(true);
//! let mut tools = ServiceBuilder::new()
//!     .layer(RetryLayer::new())
//!     // Only because the tool below makes all its failures itself, there is no `ClassifyLayer` here.
//!     .service_fn(async |_: Call| match is_busy.replace(false) {
//!         true => Err(Failure::rate_limited(Some(Duration::from_secs(2))).before_running()),
//!         false => Ok("12.50"),
//!     });
//!
//! let start = tokio::time::Instant::now();
//! assert_eq!(tools.ready().await?.call(Call).await?, "12.50");
//! assert!(start.elapsed() >= Duration::from_secs(2));
//! # Ok(())
//! # }
//! ```
//!
//! Other settings, and a function that says which tools may run twice:
//!
//! ```
//! use mcp_resilience::{backoff::Backoff, retry::RetryLayer};
//! use std::time::Duration;
//!
//! let retry = RetryLayer::builder()
//!     .max_attempts(5)
//!     .backoff(Backoff::new(Duration::from_millis(200), Duration::from_secs(5))?)
//!     .deadline(Duration::from_secs(120))
//!     .repeat_ok(|tool| match tool {
//!         "send_reminder" => Some(true),
//!         "get_or_create" => Some(false),
//!         _ => None,
//!     })
//!     .build()?;
//! # let _ = retry;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Delivery::NotSent`]: crate::Delivery::NotSent
//! [`Delivery::Refused`]: crate::Delivery::Refused
//! [`Stopped::MayHaveRun`]: crate::failure::Stopped::MayHaveRun
//! [`max_attempts`]: RetryBuilder::max_attempts
//! [`backoff`]: RetryBuilder::backoff
//! [`waits`]: crate::policy::Policy::waits
//! [`retry_window`]: RetryBuilder::retry_window
//! [`deadline`]: RetryBuilder::deadline
//! [`ceiling`]: crate::policy::Policy::ceiling
//! [`policies`]: RetryBuilder::policies
//! [`Stopped::Window`]: crate::failure::Stopped::Window
//! [`Stopped::Deadline`]: crate::failure::Stopped::Deadline
//! [`max_retry_after`]: RetryBuilder::max_retry_after
//! [`budget`]: RetryBuilder::budget
//! [`repeat_ok`]: RetryBuilder::repeat_ok
//! [`override_verdict`]: RetryBuilder::override_verdict
//! [`observer`]: RetryBuilder::observer
//! [`retry_after_gate`]: RetryBuilder::retry_after_gate

mod budget;
mod builder;
mod clock;
mod decide;
mod future;
mod held;
mod history;
mod layer;
mod next_attempt;
mod progress;
mod retry_after_gate;
mod service;
mod settings;
mod shares;
mod verdict;
mod watch;

pub use self::{
    builder::RetryBuilder,
    future::ResponseFuture,
    layer::RetryLayer,
    retry_after_gate::RetryAfterGate,
    service::Retry,
    verdict::{Override, Verdict},
};
