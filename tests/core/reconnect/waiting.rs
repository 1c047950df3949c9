//! What ends the wait for a connection, and for its readiness.

use super::{Ask, Connection, Dial, MINUTE, MS, SECOND, Server, exact, fail, spawn};
use mcp_resilience::{
    Class, Delivery,
    reconnect::{Reconnect, ReconnectBuilder, ReconnectLayer},
};
use std::{
    error::Error as _,
    io::{Error, ErrorKind},
    iter::repeat_with,
};
use tokio::{task::JoinSet, time::Instant};
use tower::{BoxError, Layer, ServiceExt, limit::ConcurrencyLimit, service_fn};

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
async fn the_ready_timeout_covers_the_connection_and_its_readiness_together() {
    let server = Server::new([Dial::Takes(3 * SECOND)]);
    let tools = narrow(&server, exact().ready_timeout(5 * SECOND));
    let ask = || tools.clone().oneshot(Ask::After(MINUTE, None));
    let mut asking = JoinSet::from_iter([ask(), ask()]);

    // Whichever came second; it is answered first.
    let second = asking.join_next().await.unwrap().unwrap();

    assert_eq!(second.unwrap_err().class(), Class::Timeout);
    assert_eq!(
        server.begun.elapsed(),
        5 * SECOND,
        "of which 3 for the dial"
    );
    assert!(asking.join_next().await.unwrap().unwrap().is_ok());
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
