//! Makes waiting for readiness a part of the call.
//!
//! An MCP request has to be answered and logged, whether the service is ready or not. This layer is
//! always ready. If the inner service is not ready, the call waits for it in its own future.
//!
//! | The inner service | This layer |
//! |---|---|
//! | is ready | calls it |
//! | is not ready yet | is ready; the call waits, for as long as its [ready timeout](AlwaysReadyLayer::ready_timeout) |
//! | is not ready in time | fails the call: [`Timeout`](crate::Class::Timeout), [`NotSent`](crate::Delivery::NotSent) |
//! | fails in `poll_ready` | fails the call with that error |
//!
//! # When to use it
//!
//! Right inside [`retry`](crate::retry). Then the deadline of `retry` covers the first wait for
//! readiness too, and a call that finds no ready service leaves its line in the
//! [`call_log`](crate::call_log).
//!
//! Not inside [`classify`](crate::classify), which drops claims of this layer about whether the call
//! ran.
//!
//! Outer layers see no back-pressure any more, so put a load shed or a concurrency limit inside.
//!
//! The instance that was made ready is the one that is called. Dropping the future gives up its place
//! in the inner service's queue.
//!
//! # Example
//!
//! ```
//! use mcp_resilience::{always_ready::AlwaysReadyLayer, classify::ClassifyLayer, retry::RetryLayer};
//! use std::time::Duration;
//! use tower::ServiceBuilder;
//!
//! let layers = ServiceBuilder::new()
//!     .layer(RetryLayer::new())
//!     .layer(AlwaysReadyLayer::new().ready_timeout(Duration::from_secs(20)))
//!     .layer(ClassifyLayer::new())
//!     .concurrency_limit(8);
//! # let _ = layers.service(());
//! ```

mod future;
mod layer;
mod ready_timeout;
mod service;

pub use self::{future::ResponseFuture, layer::AlwaysReadyLayer, service::AlwaysReady};
