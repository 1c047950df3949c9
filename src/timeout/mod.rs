//! Limits how long an attempt may go on without an answer or progress.
//!
//! The limit is idle time. It counts from the first poll of the attempt, and again from each report
//! of [progress](crate::call::Progress). A tool that is slow but alive runs on, up to a ceiling. For
//! a call that reports nothing, the limit is the longest that the attempt may take.
//!
//! | The attempt | This layer |
//! |---|---|
//! | answers or fails | passes the answer or the error on, untouched |
//! | reports nothing for as long as the limit | drops it, and fails with [`Timeout`](crate::Class::Timeout) |
//! | still runs at the ceiling | the same |
//!
//! Such a failure has the delivery [`Unknown`](crate::Delivery::Unknown), since the call was sent.
//! Its source is a [`LimitReached`](crate::failure::LimitReached) with the limit, its length and the
//! setting that raises it: see [`Failure::limit`](crate::Failure::limit). The model does not read
//! that. [The guide](crate::guide::slow_tools) shows how to give a slow tool more time.
//!
//! # Defaults
//!
//! | Setting | Default | Set by |
//! |---|---|---|
//! | limit | none: [`TimeoutLayer::new`] takes it. [The preset's](crate::preset#defaults) is 10 minutes around a tool, 60 s around a connection | [`TimeoutLayer::new`] |
//! | ceiling | 1 h, or the limit if that is longer | [`ceiling`](TimeoutBuilder::ceiling) |
//! | limits for single tools | none | [`policies`](TimeoutBuilder::policies) |
//! | [observer](crate::observe) | none | [`observer`](TimeoutBuilder::observer) |
//!
//! # When to use it
//!
//! Innermost, inside [`classify`](crate::classify) and [`retry`](crate::retry). There it limits each
//! attempt, and [`reconnect`](crate::reconnect) sees its failures. Errors of the inner service pass
//! through as they are, boxed; `Classify` gives them a class.
//!
//! The request type has to be a [`ToolCall`](crate::call::ToolCall). For any other request, and for a
//! limit that progress does not extend, use tower's own [`Timeout`](tower::timeout::Timeout), which
//! composes with all layers of this crate.
//!
//! # Costs
//!
//! An attempt that answers at the first poll costs no timer and does not read the clock. A report of
//! progress wakes no task: the layer reads the last one when its timer fires.
//!
//! # Cancellation
//!
//! Dropping the future drops the attempt.
//!
//! # Example
//!
//! ```
//! use mcp_resilience::{Class, Failure, timeout::TimeoutLayer};
//! # use mcp_resilience::call::{Progress, ToolCall};
//! use std::{convert::Infallible, time::Duration};
//! use tokio::time::sleep;
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[derive(Clone, Default)]
//! # struct Call { progress: Progress }
//! # impl ToolCall for Call {
//! #     fn name(&self) -> &str { "print_catalog" }
//! #     fn progress(&self) -> Option<&Progress> { Some(&self.progress) }
//! # }
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), tower::BoxError> {
//! let tools = ServiceBuilder::new()
//!     .layer(TimeoutLayer::new(Duration::from_secs(30))?)
//!     .service_fn(async |call: Call| {
//!         let ticker = call.progress.ticker();
//!         for _page in 0..10 {
//!             sleep(Duration::from_secs(20)).await;
//!             ticker.tick();
//!         }
//!         sleep(Duration::from_secs(60)).await;
//!         Ok::<_, Infallible>("done")
//!     });
//!
//! let start = tokio::time::Instant::now();
//! let error = tools.oneshot(Call::default()).await.unwrap_err();
//! assert_eq!(start.elapsed(), Duration::from_secs(230), "30 s after the last page");
//! assert_eq!(Failure::from(error).class(), Class::Timeout);
//! # Ok(())
//! # }
//! ```

mod builder;
mod future;
mod layer;
mod service;

pub use self::{
    builder::TimeoutBuilder, future::ResponseFuture, layer::TimeoutLayer, service::Timeout,
};
