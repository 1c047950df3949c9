//! What each layer costs on the way of success, as ratios to `tower::retry` over the same service.
//!
//! ```text
//! cargo bench --bench overhead
//! ```
//!
//! All rows answer the same request with the same tool. Making the request is not measured,
//! copying it for a repeat is: that is what a retry cannot do without. The table at the end is
//! the result: its rows are measured in turns, so that a busy machine slows all of them alike.
//! Nanoseconds are the machine's.

#[path = "overhead/call.rs"]
mod call;
#[path = "overhead/row.rs"]
mod row;
#[path = "overhead/table.rs"]
mod table;
#[path = "overhead/tower_retry.rs"]
mod tower_retry;

use call::Tool;
use criterion::Criterion;
use mcp_resilience::{
    ResilienceLayer,
    call_log::{CallLogLayer, JsonLines},
    classify::ClassifyLayer,
    fatal::FatalLayer,
    is_error::IsErrorLayer,
    policy::{Policies, Policy},
    reconnect::ReconnectLayer,
    retry::RetryLayer,
    timeout::TimeoutLayer,
};
use row::Row;
use std::{io, time::Duration};
use tower::{
    Layer, retry::RetryLayer as TowerRetryLayer, service_fn,
    timeout::TimeoutLayer as TowerTimeoutLayer,
};
use tower_retry::Attempts;

const BASELINE: &str = "tower::retry";

fn main() {
    let connector = service_fn(async |(): ()| Ok::<_, io::Error>(Tool));
    let mut rows = [
        Row::new("bare", Tool),
        Row::new(BASELINE, TowerRetryLayer::new(Attempts::new()).layer(Tool)),
        Row::new(
            "tower::timeout",
            TowerTimeoutLayer::new(Duration::from_secs(30)).layer(Tool),
        ),
        Row::new(
            "Timeout",
            TimeoutLayer::new(Duration::from_secs(30))
                .expect("a limit that can work")
                .layer(Tool),
        ),
        Row::new("Classify", ClassifyLayer::new().layer(Tool)),
        Row::new("Reconnect", ReconnectLayer::new(()).layer(connector)),
        Row::new("Retry", RetryLayer::new().layer(Tool)),
        Row::new("FatalStop", FatalLayer::new().layer(Tool)),
        Row::new("IsError", IsErrorLayer::new().layer(Tool)),
        Row::new("CallLog", log().layer(Tool)),
        Row::new("preset, log off", preset(CallLogLayer::off()).layer(Tool)),
        Row::new(
            "preset, log off, policies",
            with_policies(CallLogLayer::off()).layer(Tool),
        ),
        Row::new("preset, log on", preset(log()).layer(Tool)),
    ];

    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let mut group = criterion.benchmark_group("overhead");
    for row in &mut rows {
        group.bench_function(row.name(), |bencher| {
            bencher.iter_custom(|calls| row.time(calls));
        });
    }
    group.finish();
    criterion.final_summary();
    table::print(&mut rows, BASELINE);
}

fn preset(log: CallLogLayer) -> ResilienceLayer {
    ResilienceLayer::builder()
        .log(log)
        .build()
        .expect("valid settings")
}

/// The tool that is measured has a policy, among others.
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
    ResilienceLayer::builder()
        .log(log)
        .policies(policies)
        .build()
        .expect("valid settings")
}

/// Lines are made and handed over; where they go costs nothing.
fn log() -> CallLogLayer {
    CallLogLayer::new(JsonLines::new(io::sink()))
}
