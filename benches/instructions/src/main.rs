//! The calls whose instructions `benches/instructions/run` counts.
//!
//! See [`measure`].

#[path = "../../log/by_hand.rs"]
mod by_hand;
mod call;
mod measure;
#[path = "../../support/tower_retry.rs"]
mod tower_retry;

/// What the benchmarks' own modules name.
mod support {
    pub(crate) use crate::call::{Answer, Call};
}

use by_hand::ByHand;
use call::{Answer, Call, Tool};
use mcp_resilience::{
    Failure, ResilienceLayer,
    call::ToolResult,
    call_log::{CallLogLayer, Record, Sink},
    failure::Delivery,
    policy::{Policies, Policy},
    reconnect::ReconnectLayer,
    retry::RetryLayer,
};
use measure::Run;
use std::{fmt::Debug, future::ready, hint::black_box, io, iter::repeat, time::Duration};
use tower::{Layer, Service, ServiceExt, retry::RetryLayer as TowerRetryLayer, service_fn};
use tower_retry::Attempts;
use tracing::{Dispatch, dispatcher::with_default};

const CASES: &[(&str, Run)] = &[
    ("bare", |calls| run(Tool, calls)),
    ("tower::retry", |calls| {
        run(TowerRetryLayer::new(Attempts::new()).layer(Tool), calls);
    }),
    ("retry", |calls| run(RetryLayer::new().layer(Tool), calls)),
    ("reconnect", |calls| {
        let connector = service_fn(|(): ()| ready(Ok::<_, io::Error>(Tool)));
        run(ReconnectLayer::new(()).layer(connector), calls);
    }),
    ("preset", |calls| {
        run(preset(CallLogLayer::off()).layer(Tool), calls)
    }),
    ("preset, policies", |calls| {
        run(with_policies(CallLogLayer::off()).layer(Tool), calls);
    }),
    ("preset, rendered log", |calls| {
        run(preset(CallLogLayer::new(Rendered)).layer(Tool), calls);
    }),
    ("flagged result", |calls| {
        let flagged = Tool.map_response(flagged);
        run(preset(CallLogLayer::off()).layer(flagged), calls);
    }),
    ("flagged result, rendered log", |calls| {
        let flagged = Tool.map_response(flagged);
        run(preset(CallLogLayer::new(Rendered)).layer(flagged), calls);
    }),
    ("an event by hand, JSON subscriber", |calls| {
        let by_hand = ByHand(preset(CallLogLayer::off()).layer(Tool));
        with_subscriber(|| run(by_hand, calls));
    }),
    ("rendered log, JSON subscriber", |calls| {
        let rendered = preset(CallLogLayer::new(Rendered)).layer(Tool);
        with_subscriber(|| run(rendered, calls));
    }),
    ("one repeat without a wait", |calls| {
        let retry = RetryLayer::builder()
            .policy(Policy::new().waits(|| repeat(Duration::ZERO)).no_budget())
            .build();
        let layer = ResilienceLayer::builder()
            .log(CallLogLayer::off())
            .retry(retry.expect("valid settings"))
            .build();
        run(layer.expect("valid settings").layer(refusing_once()), calls);
    }),
];

fn main() {
    measure::main(CASES);
}

fn preset(log: CallLogLayer) -> ResilienceLayer {
    let layer = ResilienceLayer::builder().log(log).build();
    layer.expect("valid settings")
}

/// The tool that is called has a policy, among others.
fn with_policies(log: CallLogLayer) -> ResilienceLayer {
    let names = [
        "add",
        "export",
        "import",
        "list",
        "pay",
        "search_catalog",
        "send",
    ];
    let policy = || {
        Policy::new()
            .max_attempts(4)
            .ceiling(Duration::from_secs(7200))
    };
    let policies = names.into_iter().fold(Policies::new(), |policies, name| {
        policies.tool(name, policy())
    });
    let layer = ResilienceLayer::builder()
        .log(log)
        .policies(policies)
        .build();
    layer.expect("valid settings")
}

/// Writes events and spans to nowhere, as JSON.
fn with_subscriber(run: impl FnOnce()) {
    let subscriber = tracing_subscriber::fmt().json().with_writer(io::sink);
    with_default(&Dispatch::new(subscriber.finish()), run);
}

fn run<S>(service: S, calls: usize)
where
    S: Service<Call, Response = Answer>,
    S::Error: Debug,
{
    measure::run(service, Call::new, calls);
}

/// Makes the line, and drops it.
struct Rendered;

impl Sink for Rendered {
    fn write(&self, record: &Record<'_>) {
        black_box(record.to_json());
    }
}

fn flagged(mut answer: Answer) -> Answer {
    answer.flag();
    answer
}

/// Refuses every other call.
fn refusing_once() -> impl Service<Call, Response = Answer, Error = Failure, Future: Send> + Clone {
    let mut refuses = false;
    service_fn(move |call: Call| {
        refuses = !refuses;
        let answer = (!refuses).then(|| Tool.call(call));
        async move {
            match answer {
                Some(answer) => answer.await.map_err(|never| match never {}),
                None => Err(Failure::unavailable(None).with_delivery(Delivery::NotSent)),
            }
        }
    })
}
