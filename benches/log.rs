//! The cost of a log line, compared with an event of `tracing` with the same fields that
//! `tracing-subscriber` writes as JSON.
//!
//! ```text
//! cargo bench --bench log
//! ```
//!
//! Flat out, the writers share the processors with the calls. In the second table there is a call every 100 µs, as on
//! a busy server: it is the median of a single call.
#![allow(clippy::print_stdout, reason = "a table is what it is for")]

mod log {
    pub(crate) mod by_hand;
    pub(crate) mod paced;
}
mod support;

use log::{by_hand::ByHand, paced::print_median};
use mcp_resilience::{
    ResilienceLayer,
    call_log::{CallLogLayer, JsonLines, Record, Sink, TracingEvents},
};
use std::{fmt::Debug, hint::black_box, io, time::Duration};
use support::{Answer, Attempts, Call, Kind, Row, Tool, measure};
use tower::{Layer, Service, retry::RetryLayer};
use tracing::{Dispatch, dispatcher::with_default};

fn main() {
    flat_out();
    // Before there is a subscriber: from then on, others look for it too.
    paced();
    with_subscriber();
}

fn flat_out() {
    let lines = JsonLines::new(io::sink());
    let mut rows = [
        Row::of_calls(
            "tower::retry",
            RetryLayer::new(Attempts::new()).layer(tool()),
        ),
        Row::of_calls("no log", preset(CallLogLayer::off())),
        Row::of_calls("rendered and dropped", preset(rendered())),
        Row::of_calls(
            "JsonLines to nowhere",
            preset(CallLogLayer::new(lines.clone())),
        ),
    ];
    measure("log: flat out", &mut rows, "tower::retry", 100, 250);
    lines.flush(Duration::from_secs(10));
    println!("lines lost: {}\n", lines.lost());
}

fn paced() {
    let lines = JsonLines::new(io::sink());
    println!("{:<36} {:>10}", "log: a call every 100 µs", "median ns");
    let mut retry = RetryLayer::new(Attempts::new()).layer(tool());
    print_median("tower::retry", &mut retry);
    print_median("no log", &mut preset(CallLogLayer::off()));
    print_median("rendered and dropped", &mut preset(rendered()));
    print_median(
        "JsonLines to nowhere",
        &mut preset(CallLogLayer::new(lines)),
    );
}

fn with_subscriber() {
    let mut rows = [
        row("an event by hand", ByHand(preset(CallLogLayer::off()))),
        row("no log", preset(CallLogLayer::off())),
        row("rendered and dropped", preset(rendered())),
        row(
            "TracingEvents",
            preset(CallLogLayer::new(TracingEvents::new())),
        ),
    ];
    let group = "log: a JSON subscriber listens";
    measure(group, &mut rows, "an event by hand", 100, 250);
}

fn tool() -> Tool {
    Tool::new(Kind::Text)
}

fn preset(
    log: CallLogLayer,
) -> impl Service<Call, Response = Answer, Error: Debug, Future: Send> + 'static {
    let layer = ResilienceLayer::builder().log(log).build();
    layer.expect("valid settings").layer(tool())
}

/// Lines are made, and dropped.
fn rendered() -> CallLogLayer {
    CallLogLayer::new(|record: &Record<'_>| {
        black_box(record.to_json());
    })
}

/// Events and spans are written to nowhere as JSON.
fn row<S>(name: &'static str, service: S) -> Row
where
    S: Service<Call, Response = Answer, Error: Debug> + 'static,
{
    let subscriber = tracing_subscriber::fmt().json().with_writer(io::sink);
    let listener = Dispatch::new(subscriber.finish());
    let mut row = Row::of_calls(name, service);
    Row::new(name, move |calls| {
        with_default(&listener, || row.time(calls))
    })
}
