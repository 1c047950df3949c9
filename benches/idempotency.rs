//! The cost of keys: a call without one, and a call with one in each store.
//!
//! ```text
//! cargo bench --features redb --bench idempotency
//! ```
//!
//! The tool answers at once, so that a row is the layer's alone. The table at the end is the result: what
//! each row takes beyond the first, the median over rounds in turns. The row `file` waits for the disk twice a
//! call, one call after the other; calls at the same time share that.

use criterion::Criterion;
use mcp_resilience::{
    call::{Arguments, Flagged, IdempotencyKey, KEY_META, ToolCall, ToolResult},
    failure::{BoxError, Failure},
    idempotency::{IdempotencyLayer, StoredResult},
};
use serde_json::{Map, Value, json};
use std::{hint::black_box, time::Duration};
use tokio::{
    runtime::{Builder, Runtime},
    time::Instant,
};
use tower::{Layer, Service, ServiceExt, service_fn};

const ROUNDS: usize = 200;
const CALLS: u64 = 256;

fn main() {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime to measure on");
    let mut rows = vec![
        Row::new("bare", false, CALLS, service_fn(tool)),
        Row::new("no key", false, CALLS, layered(&IdempotencyLayer::new())),
        Row::new("memory", true, CALLS, layered(&IdempotencyLayer::new())),
    ];
    #[cfg(feature = "redb")]
    let file = std::env::temp_dir().join(format!("bench-{}.redb", std::process::id()));
    #[cfg(feature = "redb")]
    rows.push(Row::new(
        "file",
        true,
        4,
        layered(&IdempotencyLayer::with_store(
            mcp_resilience::idempotency::store::RedbStore::open(&file).expect("a file"),
        )),
    ));

    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(10)
        .configure_from_args();
    let mut group = criterion.benchmark_group("idempotency");
    for row in &mut rows {
        group.bench_function(row.name, |bencher| {
            bencher.iter_custom(|calls| row.time(&runtime, calls));
        });
    }
    group.finish();
    criterion.final_summary();
    print(&mut rows, &runtime);
    #[cfg(feature = "redb")]
    let _ = std::fs::remove_file(&file);
}

async fn tool(_: Call) -> Result<Answer, Failure> {
    Ok(Answer("seat 17".to_owned()))
}

fn layered(
    layer: &IdempotencyLayer,
) -> impl Service<Call, Response = Answer, Error = Failure, Future: Send> + Clone + Send + use<> {
    layer.layer(service_fn(tool))
}

/// A service that is measured.
struct Row {
    name: &'static str,
    has_key: bool,
    batch: u64,
    make: Box<Make>,
}

/// Makes calls, one after the other, and gives the time that this took.
type Make = dyn FnMut(&Runtime, Vec<Call>) -> Duration;

impl Row {
    fn new<S>(name: &'static str, has_key: bool, batch: u64, mut service: S) -> Self
    where
        S: Service<Call, Response = Answer, Error = Failure> + 'static,
    {
        Self {
            name,
            has_key,
            batch,
            make: Box::new(move |runtime, calls| {
                let mut answers = Vec::with_capacity(calls.len());
                runtime.block_on(async {
                    let begun = Instant::now();
                    for call in calls {
                        let ready = service.ready().await.expect("ready");
                        answers.push(black_box(ready.call(call).await).expect("a success"));
                    }
                    begun.elapsed()
                })
            }),
        }
    }

    /// How long this many calls take, one after the other. Making them is not measured.
    fn time(&mut self, runtime: &Runtime, mut calls: u64) -> Duration {
        let mut measured = Duration::ZERO;
        while calls > 0 {
            let batch = calls.min(self.batch);
            let made = (0..batch).map(|_| Call::new(self.has_key)).collect();
            measured += (self.make)(runtime, made);
            calls -= batch;
        }
        measured
    }
}

#[expect(clippy::print_stdout, reason = "the table is what it is for")]
fn print(rows: &mut [Row], runtime: &Runtime) {
    let mut times: Vec<Vec<f64>> = rows.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (row, times) in rows.iter_mut().zip(&mut times) {
            let calls = row.batch;
            #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
            times.push(row.time(runtime, calls).as_secs_f64() * 1e9 / calls as f64);
        }
    }
    println!("\n{:<10} {:>10} {:>12}", "median", "ns/call", "beyond bare");
    let bare = times[0].clone();
    for (row, times) in rows.iter().zip(times) {
        let beyond = times.iter().zip(&bare).map(|(time, bare)| time - bare);
        let beyond = median(beyond.collect());
        println!("{:<10} {:>10.0} {beyond:>12.0}", row.name, median(times));
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A call of a tool that books a seat.
struct Call {
    arguments: Map<String, Value>,
    meta: Map<String, Value>,
}

impl Call {
    fn new(has_key: bool) -> Self {
        let object = |value: Value| match value {
            Value::Object(object) => object,
            _ => Map::new(),
        };
        let mut meta = object(json!({"progressToken": 17}));
        if has_key {
            let key = IdempotencyKey::random();
            meta.insert(KEY_META.to_owned(), key.as_str().into());
        }
        Self {
            arguments: object(json!({"train": "ICE 71", "class": 2, "quiet": true})),
            meta,
        }
    }
}

impl ToolCall for Call {
    fn name(&self) -> &'static str {
        "book"
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        Some((&self.arguments).into())
    }

    fn meta(&self) -> Option<&Map<String, Value>> {
        Some(&self.meta)
    }
}

struct Answer(String);

impl ToolResult for Answer {
    fn is_error(&self) -> bool {
        false
    }

    fn flag(&mut self) {}

    fn from_failure(_: Flagged) -> Option<Self> {
        None
    }
}

impl StoredResult for Answer {
    fn encode(&self) -> Result<Vec<u8>, BoxError> {
        Ok(self.0.clone().into_bytes())
    }

    fn decode(bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(String::from_utf8(bytes.to_vec())?))
    }

    fn mark_replayed(&mut self) {}
}
