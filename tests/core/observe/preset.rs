//! One observer for a whole stack.

use super::{SECOND, exact};
use crate::support::{Answer, Call, Lines, Script, Seen};
use mcp_resilience::{
    Failure, ResilienceLayer,
    backoff::{Backoff, Jitter},
    call_log::CallLogLayer,
    observe::{Observer, TracingEvents},
    preset::ResilienceBuilder,
    reconnect::ReconnectLayer,
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};
use tower::{BoxError, Layer, ServiceExt, service_fn};

fn preset(lines: &Lines) -> ResilienceBuilder {
    ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .retry(exact().build().unwrap())
}

fn away() -> Result<Answer, BoxError> {
    Err(Failure::unavailable(None).into())
}

#[tokio::test(start_paused = true)]
async fn events_have_the_id_of_the_log_line_and_agree_with_it() {
    let (seen, lines) = (Seen::new(), Lines::default());
    let layer = preset(&lines).observer(seen.clone()).build().unwrap();
    let stack = layer.layer(Script::new([away(), away(), away()]));
    let answer = stack.oneshot(Call::read_only("quote")).await.unwrap();
    assert!(answer.is_error);
    assert_eq!(
        seen.lines(),
        [
            "0 retry_scheduled quote#1 unavailable 1s",
            "1000 retry_scheduled quote#2 unavailable 2s",
            "3000 gave_up quote#3 unavailable attempts",
        ]
    );
    let line = lines.only();
    assert_eq!(line["retry_stopped"], "attempts");
    let id = line["call_id"].as_str().map(str::to_owned);
    assert_eq!(seen.ids(), vec![id; 3]);
}

#[tokio::test(start_paused = true)]
async fn without_a_log_a_call_has_no_id() {
    let seen = Seen::new();
    let layer = preset(&Lines::default()).log(CallLogLayer::off());
    let layer = layer.observer(seen.clone()).build().unwrap();
    let stack = layer.layer(Script::new([away(), Ok(Answer::ok("fine"))]));
    stack.oneshot(Call::read_only("quote")).await.unwrap();
    assert_eq!(seen.ids(), [None]);
}

#[tokio::test(start_paused = true)]
async fn around_a_connector_it_sees_the_connections_too() {
    let (seen, lines) = (Seen::new(), Lines::default());
    let layer = preset(&lines).observer(seen.clone()).build().unwrap();
    let fine = || Ok(Answer::ok("fine"));
    let lost = Err(Failure::connection("reset").into());
    let connections = [
        Some(Script::new([fine(), fine(), lost])),
        None,
        Some(Script::new([fine()])),
    ];
    let left = Arc::new(Mutex::new(VecDeque::from(connections)));
    let connector = service_fn(move |()| {
        let next = left.lock().unwrap().pop_front().expect("a dial too many");
        async { next.ok_or(Failure::connection("refused")) }
    });
    let reconnect = ReconnectLayer::builder(())
        .backoff(Backoff::new(SECOND, SECOND).unwrap())
        .jitter(Jitter::none());
    let (stack, _handle) = layer.connect(&reconnect.build().unwrap(), connector);
    for _ in 0..3 {
        let answer = stack.clone().oneshot(Call::read_only("quote")).await;
        assert_eq!(answer.unwrap(), Answer::ok("fine"));
        tokio::time::sleep(SECOND).await;
    }
    assert_eq!(
        seen.lines(),
        [
            "0 dialing 1",
            "0 connected 1 gives 1",
            "2000 connection_lost 1 connection",
            "2000 retry_scheduled quote#1 connection 0ns",
            "2000 dialing 2",
            "2000 dial_failed 2 connection",
            "3000 dialing 3",
            "3000 connected 3 gives 2",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_layer_keeps_an_observer_of_its_own() {
    let (own, other) = (Seen::new(), Seen::new());
    let layer = preset(&Lines::default())
        .retry(exact().observer(own.clone()).build().unwrap())
        .observer(other.clone())
        .build()
        .unwrap();
    let stack = layer.layer(Script::new([away(), Ok(Answer::ok("fine"))]));
    stack.oneshot(Call::read_only("quote")).await.unwrap();
    assert_eq!(own.lines().len(), 1);
    assert_eq!(other.lines(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn several_observers_see_the_same() {
    let seen = [Seen::new(), Seen::new(), Seen::new()];
    let [a, b, c] = seen.clone();
    let all = a.and(TracingEvents).and(Arc::new(b)).and(c);
    let layer = preset(&Lines::default()).observer(all).build().unwrap();
    let stack = layer.layer(Script::new([away(), Ok(Answer::ok("fine"))]));
    stack.oneshot(Call::read_only("quote")).await.unwrap();
    for seen in seen {
        let expected = ["0 retry_scheduled quote#1 unavailable 1s"];
        assert_eq!(seen.lines(), expected);
    }
}
