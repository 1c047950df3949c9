//! A connection that comes back: all clones share one, and a lost one is replaced.
//!
//! The layer wraps a connector, which is a service that makes services (tower's
//! [`MakeService`](tower::MakeService)). A dial makes a connection. A failure of a class that [needs
//! a new connection](crate::Class::needs_new_connection) retires the connection that it came from,
//! unless the server answered with it. The failed call returns its own error; repeating the call is
//! up to [`retry`](crate::retry).
//!
//! There is at most one dial at any time. Every dial and every connection has a number, so that a
//! late end of an older one changes nothing.
//!
//! | Event | What happens |
//! |---|---|
//! | a call comes, and there is no connection | one dial, in a task of its own; all calls wait for it |
//! | a call fails as `Connection` or `SessionLost` | its connection is retired: new calls get a new one |
//! | a call fails as `Timeout`, or several calls in a row are given up | the connection is [probed](#probes); without a probe it is retired |
//! | calls still run on a retired connection | they finish there; the last of them releases it |
//! | calls wait for a retired connection to be ready | they were not sent, and go to the new one |
//! | a connection reports before the call that it is closed | it is retired, and the call goes to the new one |
//! | a connection does not become ready in time | as for a timeout |
//! | a waiting call is dropped | the others are not affected |
//! | a dial fails, is too slow, or panics | the next one waits for a full-jitter backoff, and for a call that needs it |
//! | the very first dial fails | [`Fatal`](crate::Class::Fatal), for good, unless [`retry_first_dial`](ReconnectBuilder::retry_first_dial) is set |
//! | a later dial fails as `Fatal` | that failure, for good |
//! | a later dial fails in any other way: 401, 403, a maintenance page, a missing binary | backoff, as for any other failure; the connector is asked for credentials again at each dial |
//! | a dial fails, and the server asks for a wait | the next dial is not made earlier; a call that cannot wait so long fails at once |
//! | [`shutdown`](ReconnectHandle::shutdown), or the last clone is dropped | a dial in progress ends at once, and waiting calls fail; no connection comes back |
//!
//! "For good" lasts until [`reset`](ReconnectHandle::reset) or
//! [`reconnect`](ReconnectHandle::reconnect).
//!
//! # How long a call waits
//!
//! | The call | waits for |
//! |---|---|
//! | came before a dial failed | a connection, over any number of dials, for the ready timeout (30 s) |
//! | the same, and the server refuses: dials fail in a way that [waiting does not help](crate::Class::heals), such as `Unauthorized` | two such dials in a row |
//! | came after a dial failed, or in an outage older than 5 s | the end of one dial, if it is due within 5 s; else it fails at once |
//! | any, once it has a connection | the readiness of that, within the same ready timeout; after a dial at least half of it is left |
//! | any | no dial that is due after its ready timeout ends: it fails as soon as that is known |
//!
//! An outage begins with the first failure after a stable connection and ends with the next stable
//! connection. The 5 s are [`fail_fast_after`](ReconnectBuilder::fail_fast_after).
//!
//! A call that gets no connection fails with [`NotSent`](crate::Delivery::NotSent), and with the
//! class, message and sources of the last dial's failure. In the first 5 s of an outage,
//! [`retry`](crate::retry) may repeat it, so a server that restarts within seconds costs no call.
//! Later the failure is final ([`Stopped::NotReady`](crate::failure::Stopped::NotReady), or
//! `HintTooLong`), so a server that stays down fails each call within 5 s and one dial.
//!
//! # Stable connections
//!
//! After a stable connection, the next dial starts at once, and repeats of the calls that were lost
//! with it cost no retry budget. A connection is stable once two calls were answered on it, or once it
//! has lasted for 30 s. A lost session makes its connection stable only by time.
//!
//! A server that dies after a few answers, again and again, must not be started a thousand times. So
//! a stable connection that is lost within the first wait of the backoff (1 s) does not end the
//! backoff. If it was itself dialled at once, the next dial has to wait.
//!
//! # Probes
//!
//! A slow tool is no dead server. If the connection can be [probed](ReconnectBuilder::probe), a
//! timeout starts a probe, and the connection stays in use. The same happens after 3 calls in a row
//! without an answer ([`give_up_limit`](ReconnectBuilder::give_up_limit)): calls that were dropped
//! after they were sent, or not answered in time. Calls that were dropped before they were sent do
//! not count.
//!
//! There is one probe at a time. An answer to any call in the meantime shows that the connection is
//! alive. If the probe fails, or is not answered within 5 s, the connection is retired. A client of
//! `rmcp` probes with MCP's `ping`. Without a probe, the connection is retired at once.
//!
//! # Defaults
//!
//! | Setting | Default | Set by |
//! |---|---|---|
//! | longest dial | 10 s | [`dial_timeout`](ReconnectBuilder::dial_timeout) |
//! | a call waits for a connection | 30 s, and up to 15 s more until it is ready | [`ready_timeout`](ReconnectBuilder::ready_timeout) |
//! | age of an outage after which calls fail fast | 5 s | [`fail_fast_after`](ReconnectBuilder::fail_fast_after) |
//! | waits between dials | 1 s, doubled up to 30 s, full jitter, at least 10 ms | [`backoff`](ReconnectBuilder::backoff), [`jitter`](ReconnectBuilder::jitter) |
//! | time that makes any connection stable | 30 s | [`stable_after`](ReconnectBuilder::stable_after) |
//! | probe | none | [`probe`](ReconnectBuilder::probe) |
//! | longest probe | 5 s | [`probe_timeout`](ReconnectBuilder::probe_timeout) |
//! | calls given up in a row | 3 | [`give_up_limit`](ReconnectBuilder::give_up_limit) |
//! | [observer](crate::observe) | `TracingEvents` | [`observer`](ReconnectBuilder::observer) |
//!
//! # When to use it
//!
//! Between [`classify`](crate::classify) and the connections, and outside the timeout of a
//! connection, whose failures it has to see.
//!
//! The errors of a connection are read as [`Failure::from`](crate::Failure) reads them. If a rule is
//! needed to read them, let the connector wrap each connection in `Classify` as well, as
//! [`ResilienceLayer::connect`](crate::ResilienceLayer::connect) does. A connector returns a
//! [`Failure`](crate::Failure) for its own errors, since it knows best what they mean.
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
