//! What ends the wait for a connection, and for its readiness.

use super::{
    Answering, Ask, Connection, Dial, LOSE, MINUTE, MS, SECOND, Server, exact, fail, spawn,
};
use mcp_resilience::{
    Class, Delivery,
    backoff::{Backoff, Jitter},
    policy::Policy,
    reconnect::{Reconnect, ReconnectBuilder, ReconnectLayer},
    retry::RetryLayer,
};
use std::{
    error::Error as _,
    io::{Error, ErrorKind},
    iter::repeat_with,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, Sleep, sleep_until},
};
use tower::{BoxError, Layer, Service, ServiceExt, limit::ConcurrencyLimit, service_fn};

/// Connections on which one call runs at a time.
fn narrow(
    server: &Server,
    settings: ReconnectBuilder<()>,
) -> Reconnect<ConcurrencyLimit<Connection>> {
    let server = server.clone();
    let connector = service_fn(move |()| {
        let server = server.clone();
        async { Ok::<_, BoxError>(ConcurrencyLimit::new(server.dial().await?, 1)) }
    });
    settings.build().unwrap().layer(connector)
}

#[tokio::test(start_paused = true)]
async fn a_readiness_that_hangs_ends_by_the_ready_timeout_and_the_connection_is_replaced() {
    let server = Server::new([]);
    let tools = narrow(&server, exact().ready_timeout(5 * SECOND));
    let holder = tokio::spawn(tools.clone().oneshot(Ask::After(MINUTE, None)));
    tokio::time::sleep(SECOND).await;

    let begun = Instant::now();
    let failure = tools.clone().oneshot(Ask::Who).await.unwrap_err();

    assert_eq!(begun.elapsed(), 5 * SECOND);
    assert_eq!(failure.class(), Class::Timeout);
    assert_eq!(failure.delivery(), Delivery::NotSent);
    assert_eq!(failure.to_string(), "the connection was not ready in time");
    assert!(!tools.handle().is_connected());
    assert_eq!(tools.clone().oneshot(Ask::Who).await.unwrap(), 2);
    assert_eq!(holder.await.unwrap().unwrap(), 1, "it is left alone");
}

#[tokio::test(start_paused = true)]
async fn a_readiness_that_hangs_after_a_dial_ends_too() {
    let server = Server::new([Dial::Takes(3 * SECOND)]);
    let tools = narrow(&server, exact().ready_timeout(5 * SECOND));
    let ask = || tools.clone().oneshot(Ask::After(MINUTE, None));
    let mut asking = JoinSet::from_iter([ask(), ask()]);

    // Whichever came second; it is answered first.
    let second = asking.join_next().await.unwrap().unwrap();

    assert_eq!(second.unwrap_err().class(), Class::Timeout);
    assert_eq!(
        server.begun.elapsed(),
        5500 * MS,
        "3 s for the dial, and half of the ready timeout after it"
    );
    assert!(asking.join_next().await.unwrap().unwrap().is_ok());
}

/// A connection that becomes ready at this time. `None` for never.
struct Slow {
    connection: Connection,
    ready_at: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Clone for Slow {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            sleep: None,
            ..*self
        }
    }
}

impl Service<Ask> for Slow {
    type Response = u64;
    type Error = BoxError;
    type Future = Answering;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let Some(ready_at) = self.ready_at else {
            return Poll::Pending;
        };
        let sleep = || Box::pin(sleep_until(ready_at));
        let sleep = self.sleep.get_or_insert_with(sleep).as_mut();
        sleep.poll(cx).map(Ok)
    }

    fn call(&mut self, ask: Ask) -> Answering {
        self.connection.call(ask)
    }
}

/// Connections that become ready this long after their dial, by their numbers.
fn slow(
    server: &Server,
    settings: ReconnectBuilder<()>,
    ready_after: fn(u64) -> Option<Duration>,
) -> Reconnect<Slow> {
    let server = server.clone();
    let connector = service_fn(move |()| {
        let server = server.clone();
        async move {
            let connection = server.dial().await?;
            let ready_after = ready_after(connection.number);
            Ok::<_, BoxError>(Slow {
                connection,
                ready_at: ready_after.map(|after| Instant::now() + after),
                sleep: None,
            })
        }
    });
    settings.build().unwrap().layer(connector)
}

#[tokio::test(start_paused = true)]
async fn a_call_on_a_connection_that_was_dialled_late_is_sent_once_it_is_ready() {
    let server = Server::new([Dial::Takes(600 * MS)]);
    let settings = exact().ready_timeout(SECOND);
    let tools = slow(&server, settings, |_| Some(500 * MS));
    assert_eq!(tools.oneshot(Ask::Who).await.unwrap(), 1);
    assert_eq!(server.begun.elapsed(), 1100 * MS);
}

#[tokio::test(start_paused = true)]
async fn readiness_has_half_of_the_ready_timeout_after_a_dial_and_all_of_it_without_one() {
    for (dial, end) in [(100, 1000), (500, 1000), (600, 1100), (900, 1400)] {
        let server = Server::new([Dial::Takes(dial * MS)]);
        let tools = slow(&server, exact().ready_timeout(SECOND), |_| None);
        let failure = tools.oneshot(Ask::Who).await.unwrap_err();
        assert_eq!(failure.to_string(), "the connection was not ready in time");
        assert_eq!(server.begun.elapsed(), end * MS, "a dial of {dial} ms");
    }
    let server = Server::new([]);
    let tools = slow(&server, exact().ready_timeout(SECOND), |_| None);
    tools.handle().connect().await.unwrap();
    tools.oneshot(Ask::Who).await.unwrap_err();
    assert_eq!(server.begun.elapsed(), SECOND, "there was a connection");
}

#[tokio::test(start_paused = true)]
async fn the_shutdown_ends_a_wait_for_readiness_at_once() {
    let server = Server::new([]);
    let tools = narrow(&server, exact());
    let holder = tokio::spawn(tools.clone().oneshot(Ask::After(MINUTE, None)));
    tokio::time::sleep(SECOND).await;
    let waiting = tokio::spawn(tools.clone().oneshot(Ask::Who));
    tokio::time::sleep(MS).await;
    let begun = Instant::now();
    tools.handle().shutdown();

    let failure = waiting.await.unwrap().unwrap_err();

    assert_eq!(begun.elapsed().as_millis(), 0);
    assert_eq!(failure.class(), Class::Cancelled);
    assert_eq!(failure.delivery(), Delivery::NotSent);
    assert_eq!(holder.await.unwrap().unwrap(), 1, "what runs may finish");
}

#[tokio::test(start_paused = true)]
async fn the_shutdown_ends_the_wait_of_a_handle_too() {
    let server = Server::new([Dial::Takes(MINUTE)]);
    let tools = server.connect(exact().dial_timeout(MINUTE));
    let handle = tools.handle();
    let waiting = tokio::spawn({
        let handle = handle.clone();
        async move { handle.connect().await }
    });
    tokio::time::sleep(SECOND).await;
    handle.shutdown();
    let failure = waiting.await.unwrap().unwrap_err();
    assert_eq!(server.begun.elapsed(), SECOND);
    assert_eq!(failure.class(), Class::Cancelled);
    assert_eq!(failure.delivery(), Delivery::NotSent);
}

/// A socket, or a file of one, that is not there. From a dial, this means only that there is no
/// connection, and not that a tool or a row is missing.
#[tokio::test(start_paused = true)]
async fn a_missing_socket_is_a_failed_connection() {
    for kind in [ErrorKind::NotFound, ErrorKind::PermissionDenied] {
        let missing = move || Dial::Fails(Error::from(kind).into());
        let server = Server::new(repeat_with(missing).take(9));
        let tools = server.connect(exact().ready_timeout(5 * SECOND));
        let failure = fail(&tools, Ask::Who).await;
        assert_eq!(failure.class(), Class::Connection, "{kind}");
        assert_eq!(failure.delivery(), Delivery::NotSent, "{kind}");
        assert!(failure.source().is_some(), "{kind}");
        let chain = format!("cannot connect to the tool server: {kind}");
        assert_eq!(failure.chain().to_string(), chain);

        let server = Server::new([missing()]);
        let tools = server.connect(ReconnectLayer::builder(()));
        let first = spawn(&tools, Ask::Who).await.await.unwrap().unwrap_err();
        assert_eq!(first.class(), Class::Fatal, "{kind}: the first dial");
        let chain = first.chain().to_string();
        assert!(chain.ends_with(&kind.to_string()), "{chain}");
    }
}

#[tokio::test(start_paused = true)]
async fn readiness_after_a_dial_ends_with_the_retry_window_of_a_repeat() {
    let server = Server::new([Dial::Works, Dial::Takes(900 * MS)]);
    let settings = exact().ready_timeout(SECOND).stable_after(Duration::ZERO);
    let tools = slow(&server, settings, |number| {
        (number == 1).then_some(Duration::ZERO)
    });
    let retry = RetryLayer::builder()
        .backoff(Backoff::new(MS, MS).unwrap())
        .jitter(Jitter::none())
        .policy(Policy::new().repeat_ok(true).no_budget())
        .retry_window(1200 * MS);
    let tools = retry.build().unwrap().layer(tools);
    let failure = tools.oneshot(LOSE).await.unwrap_err();
    assert_eq!(server.begun.elapsed(), 1200 * MS);
    assert_eq!(failure.to_string(), "as told");
}
