//! Makes waiting for the inner service a part of the call, as well as its refusal.
//!
//! An MCP request is there whether or not anybody is ready for it, and has to be answered and logged
//! either way. This layer is always ready: a call that finds the inner service not ready waits for it
//! in its own future.
//!
//! | The inner service | This layer |
//! |---|---|
//! | is ready | calls it |
//! | is not ready yet | is ready all the same; the call waits, for as long as its [patience](AlwaysReadyLayer::patience) |
//! | is not ready in time | fails the call: [`Timeout`](crate::Class::Timeout), [`NotSent`](crate::Delivery::NotSent) |
//! | fails instead of being ready | fails the call with that |
//!
//! # When to use it
//!
//! Right inside [`retry`](crate::retry): then its deadline covers the wait for a first readiness too, and
//! a call that finds nobody ready leaves its line in the [`call_log`](crate::call_log).
//!
//! Not inside [`classify`](crate::classify): what a service below says of whether the call ran does not
//! count beyond such a border.
//!
//! Layers outside of it see no back-pressure any more: put a load shed or a concurrency limit inside.
//!
//! The instance that was made ready is the one that is called. Dropping the future gives up its
//! place in the inner service's queue.
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
//!     .layer(AlwaysReadyLayer::new().patience(Duration::from_secs(20)))
//!     .layer(ClassifyLayer::new())
//!     .concurrency_limit(8);
//! # let _ = layers.service(());
//! ```

mod future;
mod layer;
mod service;

pub use self::{future::ResponseFuture, layer::AlwaysReadyLayer, service::AlwaysReady};
