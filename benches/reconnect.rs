//! The cost of `Reconnect` while it is connected, and how long many calls wait for one dial.
//!
//! ```text
//! cargo bench --bench reconnect
//! ```
//!
//! In the first table the connection is there. In the second one, all calls are made before the first dial, which takes
//! 50 ms: it has the time from the dial's end to the last answer.
#![allow(clippy::print_stdout, reason = "a table is what it is for")]

mod support;

use mcp_resilience::reconnect::ReconnectLayer;
use std::{io, time::Duration};
use support::{Call, Kind, Row, Tool, is_test, measure};
use tokio::{runtime::Builder, task::JoinSet, time::Instant};
use tower::{Layer, ServiceExt, service_fn};

const DIAL: Duration = Duration::from_millis(50);

fn main() {
    let connector = service_fn(async |(): ()| Ok::<_, io::Error>(tool()));
    let mut rows = [
        Row::of_calls("the tool alone", tool()),
        Row::of_calls("Reconnect", ReconnectLayer::new(()).layer(connector)),
    ];
    measure("reconnect: ready", &mut rows, "the tool alone", 400, 250);

    println!(
        "{:<36} {:>10} {:>10}",
        "reconnect: one dial", "median ms", "µs each"
    );
    for calls in [1_000, 16_000] {
        let rounds = if is_test() { 1 } else { 15 };
        let mut took: Vec<_> = (0..rounds).map(|_| wait(calls)).collect();
        took.sort_unstable();
        let median = took[rounds / 2].as_secs_f64();
        let each = median * 1e6 / f64::from(calls);
        let name = format!("{calls} calls wait");
        println!("{name:<36} {:>10.1} {each:>10.2}", median * 1e3);
    }
}

fn tool() -> Tool {
    Tool::new(Kind::Text)
}

fn wait(calls: u32) -> Duration {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime to measure on");
    runtime.block_on(async {
        let connector = service_fn(async |(): ()| {
            tokio::time::sleep(DIAL).await;
            Ok::<_, io::Error>((tool(), Instant::now()))
        });
        // The connection records when it was made.
        let connector = connector.map_response(|(tool, since)| {
            tool.map_response(move |_| Instant::now().duration_since(since))
        });
        let service = ReconnectLayer::new(()).layer(connector);
        let mut waiting = JoinSet::new();
        for _ in 0..calls {
            waiting.spawn(service.clone().oneshot(Call::new()));
        }
        let mut last = Duration::ZERO;
        while let Some(ended) = waiting.join_next().await {
            let since = ended.expect("a task that ends").expect("an answer");
            last = last.max(since);
        }
        last
    })
}
