//! What each layer costs on the way of success, as ratios to `tower::retry` over the same service.
//!
//! ```text
//! cargo bench --bench overhead
//! ```
//!
//! All rows answer the same request. Making the request is not measured, copying it for a repeat
//! is: that is what a retry cannot do without. The table at the end is the result; nanoseconds are
//! the machine's.

#[path = "overhead/call.rs"]
mod call;
#[path = "overhead/ratios.rs"]
mod ratios;
#[path = "overhead/tower_retry.rs"]
mod tower_retry;

use call::{Answer, Call, Tool};
use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use mcp_resilience::{
    ResilienceLayer,
    call_log::{CallLogLayer, JsonLines},
    classify::ClassifyLayer,
    fatal::FatalLayer,
    is_error::IsErrorLayer,
    reconnect::ReconnectLayer,
    retry::RetryLayer,
};
use std::{hint::black_box, io, time::Duration};
use tokio::{
    runtime::{Builder, Runtime},
    time::Instant,
};
use tower::{
    Layer, Service, ServiceExt, layer::util::Identity, retry::RetryLayer as TowerRetryLayer,
    service_fn, timeout::TimeoutLayer,
};
use tower_retry::Attempts;

const GROUP: &str = "overhead";
const BASELINE: &str = "tower::retry";

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime to measure on");
    let mut group = criterion.benchmark_group(GROUP);
    let timeout = TimeoutLayer::new(Duration::from_secs(30));

    measure(&mut group, &runtime, "bare", &Identity::new());
    measure(
        &mut group,
        &runtime,
        BASELINE,
        &TowerRetryLayer::new(Attempts::new()),
    );
    measure(&mut group, &runtime, "tower::timeout", &timeout);
    measure(&mut group, &runtime, "Classify", &ClassifyLayer::new());
    measure(&mut group, &runtime, "Retry", &RetryLayer::new());
    measure(&mut group, &runtime, "FatalStop", &FatalLayer::new());
    measure(&mut group, &runtime, "IsError", &IsErrorLayer::new());
    measure(&mut group, &runtime, "CallLog", &log());
    measure(
        &mut group,
        &runtime,
        "preset, log off",
        &preset(CallLogLayer::off()),
    );
    measure(&mut group, &runtime, "preset, log on", &preset(log()));
    measure_service(&mut group, &runtime, "Reconnect", {
        let connector = service_fn(async |(): ()| Ok::<_, io::Error>(Tool));
        ReconnectLayer::new(()).layer(connector)
    });
    group.finish();
    criterion.final_summary();
    ratios::print(GROUP, BASELINE);
}

fn preset(log: CallLogLayer) -> ResilienceLayer {
    ResilienceLayer::builder()
        .log(log)
        .build()
        .expect("valid settings")
}

/// Lines are made and handed over; where they go costs nothing.
fn log() -> CallLogLayer {
    CallLogLayer::new(JsonLines::new(io::sink()))
}

fn measure<L>(group: &mut BenchmarkGroup<'_, WallTime>, runtime: &Runtime, name: &str, layer: &L)
where
    L: Layer<Tool>,
    L::Service: Service<Call, Response = Answer>,
    <L::Service as Service<Call>>::Error: std::fmt::Debug,
{
    measure_service(group, runtime, name, layer.layer(Tool));
}

fn measure_service<S>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    runtime: &Runtime,
    name: &str,
    mut service: S,
) where
    S: Service<Call, Response = Answer>,
    S::Error: std::fmt::Debug,
{
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|rounds| {
            let mut measured = Duration::ZERO;
            let mut left = rounds;
            while left > 0 {
                let batch = left.min(512);
                left -= batch;
                let calls: Vec<_> = (0..batch).map(|_| Call::new()).collect();
                let mut answers = Vec::with_capacity(calls.len());
                measured += runtime.block_on(async {
                    let begun = Instant::now();
                    for call in calls {
                        let ready = service.ready().await.expect("ready");
                        answers.push(black_box(ready.call(call).await).expect("a success"));
                    }
                    begun.elapsed()
                });
            }
            measured
        });
    });
}
