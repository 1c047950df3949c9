//! How many calls a second go through with 1 to 1,000 tasks at once, on one worker and on two.
//!
//! ```text
//! cargo bench --bench concurrency
//! ```
//!
//! The time of a row is that of one call, from the first of a round to the last: its inverse is the throughput. All tasks
//! share one service, whose clones they call. Lines of the log that are lost are counted at the end: none is, as long
//! as the thread of the log gets its share of the processors.
#![allow(clippy::print_stdout, reason = "a table is what it is for")]

mod support;

use mcp_resilience::{
    ResilienceLayer,
    call_log::{CallLogLayer, JsonLines, Sink},
};
use std::{fmt::Debug, hint::black_box, io, time::Duration};
use support::{Answer, Attempts, Call, Kind, Row, Tool, is_test, measure};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
    time::Instant,
};
use tower::{Layer, Service, ServiceExt, retry::RetryLayer};

/// How many calls each task makes before it ends; between two of them it lets others run.
const CALLS_OF_A_TASK: u64 = 20;

fn main() {
    let all = if is_test() {
        &[1, 10][..]
    } else {
        &[1, 10, 100, 1_000]
    };
    for workers in [1, 2] {
        for tasks in all {
            compare(workers, *tasks);
        }
    }
}

fn compare(workers: usize, tasks: u64) {
    let lines = JsonLines::new(io::sink());
    let mut rows = [
        row(
            "tower::retry",
            (workers, tasks),
            RetryLayer::new(Attempts::new()).layer(Tool::new(Kind::Text)),
        ),
        row(
            "preset, log off",
            (workers, tasks),
            preset(CallLogLayer::off()),
        ),
        row(
            "preset, JsonLines to nowhere",
            (workers, tasks),
            preset(CallLogLayer::new(lines.clone())),
        ),
    ];
    let group = format!("concurrency: {tasks} tasks, {workers} workers");
    measure(&group, &mut rows, "tower::retry", 20, 250);
    lines.flush(Duration::from_secs(10));
    println!("lines lost: {}\n", lines.lost());
}

fn preset(
    log: CallLogLayer,
) -> impl Service<Call, Response = Answer, Error: Debug + Send, Future: Send> + Clone + Send + 'static
{
    let layer = ResilienceLayer::builder().log(log).build();
    layer.expect("valid settings").layer(Tool::new(Kind::Text))
}

fn row<S>(name: &'static str, (workers, tasks): (usize, u64), service: S) -> Row
where
    S: Service<Call, Response = Answer, Error: Debug + Send, Future: Send> + Clone + Send + 'static,
{
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_time()
        .build()
        .expect("a runtime to measure on");
    Row::new(name, move |calls| {
        // Whole rounds of all tasks, as many as needed.
        let rounds = calls.div_ceil(tasks * CALLS_OF_A_TASK);
        let took: Duration = (0..rounds).map(|_| round(&runtime, tasks, &service)).sum();
        let made = rounds * tasks * CALLS_OF_A_TASK;
        let nanos = took.as_nanos() * u128::from(calls) / u128::from(made);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    })
}

fn round<S>(runtime: &Runtime, tasks: u64, service: &S) -> Duration
where
    S: Service<Call, Response = Answer, Error: Debug + Send, Future: Send> + Clone + Send + 'static,
{
    let requests: Vec<_> = (0..tasks).map(|_| Call::new()).collect();
    runtime.block_on(async {
        let begun = Instant::now();
        let mut running = JoinSet::new();
        for request in requests {
            running.spawn(call(service.clone(), request));
        }
        while let Some(ended) = running.join_next().await {
            ended.expect("a task that ends");
        }
        begun.elapsed()
    })
}

async fn call<S>(mut service: S, request: Call)
where
    S: Service<Call, Response = Answer, Error: Debug>,
{
    for _ in 0..CALLS_OF_A_TASK {
        let ready = service.ready().await.expect("ready");
        black_box(ready.call(request.clone()).await).expect("a result");
        tokio::task::yield_now().await;
    }
}
