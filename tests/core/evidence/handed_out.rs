//! A tool passes on a failure of a connection or service of its own.
#![allow(
    clippy::items_after_statements,
    reason = "a type stands beside its only use"
)]

use super::{nested::bookings, settings};
use crate::support::{Answer, Call, Script};
use mcp_resilience::{
    Class, Delivery, Failure,
    always_ready::AlwaysReadyLayer,
    reconnect::{Reconnect, ReconnectLayer},
};
use std::{
    convert::Infallible,
    future::ready,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tower::{
    BoxError, Layer, Service, ServiceExt,
    load_shed::{LoadShedLayer, error::Overloaded},
    service_fn,
};

/// A server that is down after this many dials.
fn away_after(good: usize, layer: &ReconnectLayer<()>) -> Reconnect<u32> {
    let dials = Arc::new(AtomicUsize::new(0));
    layer.layer(service_fn(move |(): ()| {
        let is_good = dials.fetch_add(1, Relaxed) < good;
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        ready(is_good.then_some(7).ok_or_else(refused))
    }))
}

fn patient() -> ReconnectLayer<()> {
    let layer = ReconnectLayer::builder(()).retry_first_dial();
    layer.ready_timeout(Duration::from_secs(1)).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_tools_own_connection_does_not_run_the_tool_again() {
    let connect = || async {
        let server = away_after(0, &patient());
        server.handle().connect().await?;
        Ok::<_, BoxError>(Answer::ok("connected"))
    };
    assert_eq!(bookings(connect).await, 1);

    let reconnect = || async {
        let server = away_after(1, &patient());
        server.handle().connect().await?;
        server.handle().reconnect().await?;
        Ok::<_, BoxError>(Answer::ok("connected"))
    };
    assert_eq!(bookings(reconnect).await, 1);

    let wait = || async {
        let server = away_after(0, &patient());
        let ask = |connection| ready(Ok::<_, Failure>(connection));
        let number = server.handle().with(ask).await?;
        Ok::<_, BoxError>(Answer::ok(&number.to_string()))
    };
    assert_eq!(bookings(wait).await, 1);

    type Refuse = fn() -> BoxError;
    let refusals: [Refuse; 3] = [
        || {
            Failure::connection("closed")
                .with_delivery(Delivery::NotSent)
                .into()
        },
        || Failure::upstream("x").with_retryable(true).into(),
        || Overloaded::new().into(),
    ];
    for refuse in refusals {
        let ask = move || async move {
            let server = away_after(1, &patient());
            let refuse = |_| ready(Err::<(), _>(refuse()));
            server.handle().with(refuse).await?;
            Ok(Answer::ok("asked"))
        };
        assert_eq!(bookings(ask).await, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_of_the_tools_own_that_is_not_ready_does_not_run_the_tool_again() {
    let busy = || async {
        let mail = tower::limit::ConcurrencyLimit::new(
            service_fn(|_: Call| async { Ok::<_, Infallible>(Answer::ok("sent")) }),
            0,
        );
        let layer = AlwaysReadyLayer::new().ready_timeout(Duration::from_secs(1));
        let answer = layer.layer(mail).oneshot(Call::tool("mail")).await?;
        Ok::<_, BoxError>(answer)
    };
    assert_eq!(bookings(busy).await, 1);
    let full = || async {
        let none = tower::limit::ConcurrencyLimit::new(Script::new([]), 0);
        let client = AlwaysReadyLayer::new().layer(LoadShedLayer::new().layer(none));
        let answer = client.oneshot(Call::tool("mail")).await?;
        Ok::<_, BoxError>(answer)
    };
    assert_eq!(bookings(full).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_first_dial_of_the_tools_own_that_fails_leaves_the_stack_open() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let tool = service_fn(move |call: Call| {
        count.fetch_add(1, Relaxed);
        async move {
            if call.name == "mail" {
                let server = away_after(0, &ReconnectLayer::new(()));
                server.handle().connect().await?;
            }
            Ok::<_, BoxError>(Answer::ok("done"))
        }
    });
    let mut stack = settings().build().unwrap().layer(tool);
    for (tool, is_error, times) in [("mail", true, 1), ("look", false, 2), ("mail", true, 3)] {
        let stack = stack.ready().await.unwrap();
        let answer = stack.call(Call::tool(tool)).await.unwrap();
        assert_eq!(answer.is_error, is_error, "{answer:?}");
        assert_eq!(ran.load(Relaxed), times, "{tool}");
    }
    // At the start of a process it is the end of that.
    let server = away_after(0, &ReconnectLayer::new(()));
    let failure = server.handle().connect().await.unwrap_err();
    assert_eq!(failure.class(), Class::Fatal);
}
