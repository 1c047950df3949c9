//! The API that all layers and services share.

use crate::support::{Answer, Call, Lines, Script, Strict};
use mcp_resilience::{
    Failure, ResilienceLayer,
    always_ready::{AlwaysReady, AlwaysReadyLayer},
    call_log::{CallLog, CallLogLayer},
    classify::{Classify, ClassifyLayer},
    fatal::{FatalLayer, FatalStop},
    is_error::{IsError, IsErrorLayer},
    preset::Resilience,
    reconnect::{Reconnect, ReconnectLayer},
    retry::{Retry, RetryLayer},
    startup,
    timeout::{Timeout, TimeoutLayer},
};
use std::{fmt::Debug, time::Duration};
use tower::{Layer, Service, ServiceExt, service_fn};

/// An inner service that can be identified.
#[derive(Clone, Debug, PartialEq)]
struct Within(u32);

/// A layer gives the service that the constructor gives, with what is within in reach.
macro_rules! has_the_shape {
    ($service:ident, $made:expr, $layer:expr, $by_hand:expr) => {{
        let layers: [Box<dyn Fn(Within) -> $service<Within>>; 2] = [
            Box::new(|within| $layer.layer(within)),
            Box::new(|within| $by_hand.layer(within)),
        ];
        for layer in layers {
            let mut service = layer(Within(1));
            assert_eq!(service.get_ref(), &Within(1));
            service.get_mut().0 = 2;
            assert_eq!(service.clone().into_inner(), Within(2));
            is_printed(&service);
        }
        let service: $service<Within> = $made(Within(3));
        assert_eq!(service.into_inner(), Within(3));
        is_printed(&$layer);
    }};
}

fn is_printed(thing: &impl Debug) {
    assert!(!format!("{thing:?}").is_empty());
}

#[tokio::test]
async fn every_service_has_its_layer_its_constructor_and_what_is_within() {
    let second = Duration::from_secs(1);
    has_the_shape!(
        AlwaysReady,
        AlwaysReady::new,
        AlwaysReady::layer(),
        AlwaysReadyLayer::new()
    );
    has_the_shape!(
        Classify,
        Classify::new,
        Classify::layer(),
        ClassifyLayer::new()
    );
    has_the_shape!(
        FatalStop,
        FatalStop::new,
        FatalStop::layer(),
        FatalLayer::new()
    );
    has_the_shape!(IsError, IsError::new, IsError::layer(), IsErrorLayer::new());
    has_the_shape!(Retry, Retry::new, Retry::layer(), RetryLayer::new());
    has_the_shape!(
        Timeout,
        |within| Timeout::new(within, second).unwrap(),
        Timeout::layer(second).unwrap(),
        TimeoutLayer::new(second).unwrap()
    );
    has_the_shape!(
        CallLog,
        |within| CallLog::new(within, Lines::default()),
        CallLog::layer(Lines::default()),
        CallLogLayer::new(Lines::default())
    );
}

#[tokio::test]
async fn the_preset_has_it_too_and_reaches_through_all_of_its_layers() {
    for layer in [Resilience::layer(), ResilienceLayer::new()] {
        let mut tools = layer.layer(Within(1));
        assert_eq!(tools.get_ref().get_ref(), &Within(1));
        tools.get_mut().get_mut().0 = 2;
        assert_eq!(tools.clone().into_inner().into_inner(), Within(2));
        is_printed(&layer);
    }
    assert_eq!(
        Resilience::new(Within(3)).into_inner().into_inner(),
        Within(3)
    );
}

#[tokio::test]
async fn a_connection_is_made_by_its_layer_or_by_its_constructor() {
    let connector = service_fn(async |target: &'static str| {
        let answers = Script::new([Ok(Answer::ok(target))]);
        Ok::<_, Failure>(answers)
    });
    for connection in [
        Reconnect::new(connector, "books"),
        Reconnect::layer("books").layer(connector),
        ReconnectLayer::new("books").layer(connector),
    ] {
        let answer = connection.oneshot(Call::tool("list")).await.unwrap();
        assert_eq!(answer.text(), "books");
    }
}

/// All constructors, one in the other: what they make is a service.
#[tokio::test(start_paused = true)]
async fn services_made_by_their_constructors_compose() {
    let lines = Lines::default();
    let tool = Strict::new(Script::new([
        Err(Failure::unavailable(None).before_running().into()),
        Ok(Answer::ok("found")),
    ]));
    let limited = Timeout::new(tool, Duration::from_secs(60)).unwrap();
    let retried = Retry::new(AlwaysReady::new(Classify::new(limited)));
    let flagged = IsError::new(FatalStop::new(retried));
    let mut tools = CallLog::new(flagged, lines.clone());

    let answer = tools
        .ready()
        .await
        .unwrap()
        .call(Call::tool("search"))
        .await;

    assert_eq!(answer.unwrap().text(), "found");
    assert_eq!(lines.only()["attempts"], 2);
}

#[test]
fn the_checks_of_a_start_have_a_name_of_their_own() {
    assert!(startup::env("MCP_RESILIENCE_NO_SUCH_VARIABLE").is_err());
}
