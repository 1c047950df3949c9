//! Makes a call again, if it may run again and waiting may help.
//!
//! # The gate
//!
//! A call is repeated only if it provably did not run, or somebody who knows said that it may run
//! twice:
//!
//! | The failure | Repeated |
//! |---|---|
//! | says `retryable: false`, or was given up before | never |
//! | of a class that waiting does not help ([table](crate::failure)), whatever else it says | never |
//! | did not run ([`Delivery::NotSent`], [`Delivery::Refused`]), by [one who knows](crate::failure#whether-the-tool-ran) | yes |
//! | may have run, but has a key, and the server [runs it once](crate::call::ToolCall::runs_once) | yes |
//! | may have run, and its [policy](crate::policy), or else [`repeat_ok`], says `false` of the tool | no, as below |
//! | may have run, but the tool is read-only or idempotent, or its policy, or else [`repeat_ok`], says `true` | yes |
//! | may have run, but says `retryable: true` in a structured envelope of the call, or has a code that is documented as one to repeat | yes |
//! | may have run | no; the failure says [`Stopped::MayHaveRun`], and the model is told to verify first |
//!
//! [`override_verdict`] has the last word: it may stop any repeat, and may repeat a call of a tool that it
//! names where waiting may help.
//!
//! That a request can be cloned says nothing of that: it only makes a repeat possible.
//!
//! A [`Tool`](crate::Class::Tool) failure is of those that waiting does not help, unless it says
//! `retryable: true`. A call whose session the server lost is repeated once.
//!
//! # The wait
//!
//! | | wait before repeat `n` |
//! |---|---|
//! | without a hint | `U(0, min(cap, base · 2^(n-1)))` |
//! | with a hint `R` | `R + U(0, max(R/2, min(cap, base · 2^(n-1))))` |
//!
//! A call that was lost with a [good](crate::reconnect#good-connections) connection is repeated at once: the
//! pause is [`reconnect`](crate::reconnect)'s, which makes one connection for all of them; and it
//! costs none of the budget, since it happens to all calls at the same time. So it is for a lost
//! session. Not for a timeout, and not where the next connection fails as well.
//!
//! The cap holds for what is drawn, and has no say in hints: they have a maximum of their own. A hint
//! is a floor, and jitter only goes on top. Zero is no hint, and does not set the backoff back. A wait
//! that does not fit is not begun, nor one for a hint above [`max_retry_after`]: the failure goes up at
//! once with the hint in it, and says why ([`Stopped`](crate::failure::Stopped)). A hint is never
//! shortened: a call that comes back early is refused again.
//!
//! A hint holds for the call that got it. With a [`RetryAfterGate`] it holds for all calls to the same tool or
//! server, and they go out one by one after it.
//!
//! # The retry window and the deadline
//!
//! | | Retry window | Deadline |
//! |---|---|---|
//! | bounds | when waits and further attempts may begin | how long the whole call may go on |
//! | an attempt that runs | goes on; its own [timeout](crate::timeout) bounds it | is dropped |
//! | counts from | the first time that the call is waited for | the same, and anew from each report of [progress](crate::call::Progress), up to the [`ceiling`] |
//! | a wait or an attempt that does not fit | is not begun: [`Stopped::Window`] | is not begun: [`Stopped::Deadline`] |
//!
//! A call that ran into the limit of an attempt is not made again when the window leaves less than that
//! limit after the wait. Waiting for the readiness of a later attempt ends with the window.
//!
//! The deadline follows progress because the caller does: a client that resets its clock on progress
//! does not hang up. For a call that reports nothing it is the longest that it may take. The window does
//! not follow it.
//!
//! # The budget
//!
//! The repeats of all tools are paid out of one budget: a share of the calls that succeed, plus a
//! number a second. In it each tool has a share of its own, so that a broken tool does not use up what
//! the others need: half of a full budget, and after that what its own successes pay. A tool takes its
//! share also when the budget is empty, and the budget owes it then: in the long run no more is repeated
//! than the settings say. The first 256 tools that fail have shares; further ones have one together, and
//! so have all resources, and all prompts. A [policy](crate::policy) may give a tool a budget apart.
//!
//! # Defaults
//!
//! | Setting | Default | Set by |
//! |---|---|---|
//! | attempts, the first included | 3 | [`max_attempts`] |
//! | waits | [`Backoff`](crate::backoff::Backoff): 1 s, doubled up to 30 s, full jitter | [`backoff`], [`waits`] |
//! | retry window | 55 s, since callers hang up at 60 s; the deadline where only that is set | [`retry_window`] |
//! | deadline of the whole call | none | [`deadline`] |
//! | ceiling of a deadline that follows progress | 1 h, or the deadline if that is longer | [`ceiling`] |
//! | longest hint that is waited for | 5 min, or the retry window if that is shorter | [`max_retry_after`] |
//! | budget: how many repeats, over all clones | 20 % of the calls that succeed, plus 1 per second, 10 at once | [`budget`] |
//! | other settings for single tools | none | [`policies`] |
//! | the last word on a repeat | none | [`override_verdict`] |
//! | one call's hint holds for all: [`RetryAfterGate`] | no | [`retry_after_gate`] |
//! | [observer](crate::observe) | `TracingEvents` | [`observer`] |
//!
//! # When to use it
//!
//! Outside [`classify`](crate::classify) and of whatever limits concurrency, so that nothing is
//! held while it waits; inside [`is_error`](crate::is_error), for what became a result cannot be
//! told from one. Twice in a stack does no harm: what the inner one gave up, the outer one leaves
//! alone.
//!
//! # Without `classify`
//!
//! This layer believes what a [`Failure`](crate::Failure) says of whether the call ran, whoever made it.
//! [`classify`](crate::classify) is the border that takes back what a failure says of another call. So a
//! tool that calls on through a stack or a connection of its own, and passes on a failure of that by `?`,
//! **runs again after half its work** unless there is a border between it and this layer. Without one, make
//! new failures of those errors in the tool.
//!
//! # Cancellation
//!
//! Dropping the future stops everything at once, in an attempt as in a wait.
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
//! Other settings, and the user's own word on which tools may run twice:
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
//! [`waits`]: RetryBuilder::waits
//! [`retry_window`]: RetryBuilder::retry_window
//! [`deadline`]: RetryBuilder::deadline
//! [`ceiling`]: RetryBuilder::ceiling
//! [`policies`]: RetryBuilder::policies
//! [`Stopped::Window`]: crate::failure::Stopped::Window
//! [`Stopped::Deadline`]: crate::failure::Stopped::Deadline
//! [`max_retry_after`]: RetryBuilder::max_retry_after
//! [`budget`]: RetryBuilder::budget
//! [`repeat_ok`]: RetryBuilder::repeat_ok
//! [`override_verdict`]: RetryBuilder::override_verdict
//! [`observer`]: RetryBuilder::observer
//! [`retry_after_gate`]: RetryBuilder::retry_after_gate

mod again;
mod budget;
mod builder;
mod clock;
mod decide;
mod future;
mod held;
mod history;
mod layer;
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
