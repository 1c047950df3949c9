//! A connection that comes back: one for all clones, made anew when it is lost.
//!
//! Wraps a connector, which is a service that makes services (tower's
//! [`MakeService`](tower::MakeService)): a dial that gives a connection. A failure of a class that
//! [needs a new connection](crate::Class::needs_new_connection) retires the connection it came
//! from, unless it was an answer of the server's; the failed call's own error goes up, for repeating it is
//! [`retry`](crate::retry)'s business alone.
//!
//! | Event | What happens |
//! |---|---|
//! | a call, no connection yet | one dial, in a task of its own; every call waits for it |
//! | a call fails as `Connection`, `Timeout` or `SessionLost` | its connection is retired: new calls get a new one |
//! | calls still running on a retired connection | are left alone; it is released when the last is gone |
//! | calls that wait for a retired connection to be ready | go to the new one: they were not sent |
//! | a connection says before the call that it is gone | it is retired, and the call goes to the new one |
//! | a connection that does not become ready in time | is retired |
//! | a late failure of a connection that was retired before | changes nothing |
//! | a call has waited for as long as it would | it fails, as one that was never sent, with what the last dial failed of; [`retry`](crate::retry) lets it be |
//! | a waiting call is dropped | strands nobody |
//! | a dial fails, is too slow, or panics | the next one waits: full-jitter backoff; no dial once nobody waits |
//! | the very first dial fails | [`Fatal`](crate::Class::Fatal), for good ([`retry_first_dial`](ReconnectBuilder::retry_first_dial) for less) |
//! | a dial fails as `Unauthorized`, `Forbidden`, `Disabled` (settings, a binary that is not there) or `Fatal` | that failure, for good: no dial would change it. An error that nobody named is a `Connection` failure |
//! | a dial fails and the server asks for a wait | that is the shortest wait; a call that would not wait so long gets the failure at once |
//! | [`shutdown`](ReconnectHandle::shutdown), or the last clone is dropped | a dial in progress ends at once; waiting calls fail; no connection comes back |
//!
//! A new dial after a good connection starts at once. One is good once a call was answered on it,
//! or it has lasted; until then every dial counts towards the backoff, so that a server that
//! accepts and dies at once is not started a thousand times.
//!
//! A failed dial has sent nothing: the failure says [`NotSent`](crate::Delivery::NotSent), and any
//! tool may be repeated.
//!
//! # Defaults
//!
//! | Setting | Default | Set by |
//! |---|---|---|
//! | longest dial | 10 s | [`dial_timeout`](ReconnectBuilder::dial_timeout) |
//! | longest that a call waits for a connection, and for that to be ready | 30 s | [`patience`](ReconnectBuilder::patience) |
//! | waits between dials | 1 s, doubled up to 30 s, full jitter, at least 10 ms | [`backoff`](ReconnectBuilder::backoff), [`jitter`](ReconnectBuilder::jitter) |
//! | how long makes a connection good, unless it answered | 30 s | [`good_after`](ReconnectBuilder::good_after) |
//!
//! # When to use it
//!
//! Between [`classify`](crate::classify) and the connections, and outside their timeout, which it
//! has to see. A connection's errors are read as [`Failure::from`](crate::Failure) reads them: where
//! they say more to a rule than to their type, have the connector wrap each connection in `Classify`
//! as well, as [`ResilienceLayer::connect`](crate::ResilienceLayer::connect) does. A connector knows
//! best what its own failures mean, and says so with a [`Failure`](crate::Failure).
//!
//! # Example
//!
//! ```
//! use mcp_resilience::{Failure, reconnect::ReconnectLayer};
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//! use tower::{Layer, Service, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Failure> {
//! static DIALS: AtomicU32 = AtomicU32::new(0);
//! let connector = service_fn(async |_: ()| {
//!     let number = DIALS.fetch_add(1, Relaxed) + 1;
//!     let connection = service_fn(move |_: &'static str| async move {
//!         match number {
//!             1 => Err(Failure::connection("reset by peer")),
//!             _ => Ok(number),
//!         }
//!     });
//!     Ok::<_, Failure>(connection)
//! });
//! let mut tools = ReconnectLayer::new(()).layer(connector);
//!
//! assert!(tools.ready().await?.call("reserve").await.is_err());
//! assert_eq!(tools.ready().await?.call("reserve").await?, 2);
//! # Ok(())
//! # }
//! ```

mod builder;
mod caught;
mod dial;
mod dialing;
mod future;
mod handle;
mod layer;
mod machine;
mod outcome;
mod probe;
mod probing;
mod service;
mod settings;
mod shared;
mod status;
mod waiting;

pub use self::{
    builder::{InvalidReconnect, ReconnectBuilder},
    future::ResponseFuture,
    handle::ReconnectHandle,
    layer::ReconnectLayer,
    probe::{NoProbe, Probe},
    service::Reconnect,
    status::{ConnectionState, StateChanges},
};
