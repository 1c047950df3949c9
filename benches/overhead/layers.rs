use super::super::off;
use crate::support::{Call, Kind, Row, Tool};
use mcp_resilience::{
    Delivery, Failure, ResilienceLayer,
    call_log::{CallLogLayer, JsonLines, Record},
    classify::ClassifyLayer,
    fatal::FatalLayer,
    is_error::IsErrorLayer,
    policy::{Policies, Policy},
    preset::ResilienceBuilder,
    reconnect::ReconnectLayer,
    retry::RetryLayer,
    timeout::TimeoutLayer,
};
use std::{hint::black_box, io, iter::repeat, time::Duration};
use tower::{
    Layer, limit::ConcurrencyLimitLayer, service_fn, timeout::TimeoutLayer as TowerTimeoutLayer,
    util::MapErrLayer,
};
use tower_resilience_circuitbreaker::{CircuitBreakerError, CircuitBreakerLayer};

const LIMIT: Duration = Duration::from_secs(30);

/// Each layer by itself around the tool.
pub(crate) fn alone() -> Vec<Row> {
    let tool = || Tool::new(Kind::Text);
    let connector = service_fn(async |(): ()| Ok::<_, io::Error>(Tool::new(Kind::Text)));
    let timeout = TimeoutLayer::new(LIMIT).expect("a limit that can work");
    vec![
        Row::of_calls(
            "tower::timeout",
            TowerTimeoutLayer::new(LIMIT).layer(tool()),
        ),
        Row::of_calls("Timeout", timeout.layer(tool())),
        Row::of_calls("Classify", ClassifyLayer::new().layer(tool())),
        Row::of_calls("Reconnect", ReconnectLayer::new(()).layer(connector)),
        Row::of_calls("Retry", RetryLayer::new().layer(tool())),
        Row::of_calls("FatalStop", FatalLayer::new().layer(tool())),
        Row::of_calls("IsError", IsErrorLayer::new().layer(tool())),
        Row::of_calls("CallLog, to nowhere", to_nowhere().layer(tool())),
    ]
}

/// All layers.
pub(crate) fn preset(kind: Kind, request: fn() -> Call) -> Vec<Row> {
    let row = |name, layer: ResilienceLayer| {
        Row::of_requests(name, layer.layer(Tool::new(kind)), request)
    };
    vec![
        row("preset, log off", build(builder(kind, off()))),
        row(
            "preset, log off, policies",
            build(builder(kind, off()).policies(policies())),
        ),
        limited(kind, request),
        row("preset, rendered log", build(builder(kind, rendered()))),
        row(
            "preset, JsonLines to nowhere",
            build(builder(kind, to_nowhere())),
        ),
    ]
}

/// With two layers of others inside.
fn limited(kind: Kind, request: fn() -> Call) -> Row {
    let breaker = CircuitBreakerLayer::builder()
        .consecutive_failures(3)
        .failure_classifier(|outcome: &Result<_, Failure>| {
            let failure = outcome.as_ref().err();
            failure.is_some_and(Failure::speaks_against_server)
        })
        .build()
        .expect("a circuit breaker that can work");
    let layer = builder(kind, off())
        .layer_inside(ConcurrencyLimitLayer::new(64))
        .layer_inside(MapErrLayer::new(to_failure))
        .layer_inside(breaker)
        .layer_inside(ClassifyLayer::new().inside())
        .build()
        .expect("valid settings");
    let name = "preset, log off, limit and breaker";
    Row::of_requests(name, layer.layer(Tool::new(kind)), request)
}

fn to_failure(error: CircuitBreakerError<Failure>) -> Failure {
    let open = || Failure::unavailable(None).with_delivery(Delivery::NotSent);
    error.into_inner().unwrap_or_else(open)
}

fn builder(kind: Kind, log: CallLogLayer) -> ResilienceBuilder {
    let builder = ResilienceLayer::builder().log(log);
    if kind != Kind::SecondAttempt {
        return builder;
    }
    let retry = RetryLayer::builder()
        .policy(Policy::new().waits(|| repeat(Duration::ZERO)).no_budget())
        .build();
    builder.retry(retry.expect("valid settings"))
}

fn build(builder: ResilienceBuilder) -> ResilienceLayer {
    builder.build().expect("valid settings")
}

/// The tool that is called has a policy, among others.
fn policies() -> Policies {
    let names = [
        "add",
        "export",
        "import",
        "list",
        "pay",
        "search_catalog",
        "send",
    ];
    let policy = || Policy::new().ceiling(Duration::from_secs(7200));
    names.into_iter().fold(Policies::new(), |policies, name| {
        policies.tool(name, policy())
    })
}

/// Lines are made, and dropped.
fn rendered() -> CallLogLayer {
    CallLogLayer::new(|record: &Record<'_>| {
        black_box(record.to_json());
    })
}

/// Lines are made and passed on, and the sink costs nothing.
fn to_nowhere() -> CallLogLayer {
    CallLogLayer::new(JsonLines::new(io::sink()))
}
