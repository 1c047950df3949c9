//! The metrics, by the facade and by a meter.

use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{
    Failure, ResilienceLayer,
    call::{Hints, Method, Route, Side, ToolCall, Transport},
    call_log::{CallLogLayer, JsonLines, Sink},
    metrics::Metrics,
    reconnect::ReconnectLayer,
    retry::RetryLayer,
};
use metrics_exporter_prometheus::PrometheusBuilder;
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::{
    InMemoryMetricExporter, SdkMeterProvider,
    data::{AggregatedMetrics, MetricData, ResourceMetrics, ScopeMetrics},
};
use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

/// A meter that is read.
pub(crate) struct Read {
    exporter: InMemoryMetricExporter,
    provider: SdkMeterProvider,
    metrics: Metrics,
}

/// One number: of a histogram, how many there are.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    metric: String,
    labels: Vec<(String, String)>,
    pub(crate) value: u64,
}

#[derive(Debug)]
pub(crate) struct Points(Vec<Point>);

impl Point {
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Points {
    fn all(&self, metric: &str) -> Vec<&Point> {
        let all = self.0.iter().filter(|point| point.metric == metric);
        all.collect()
    }

    #[track_caller]
    pub(crate) fn one(&self, metric: &str) -> &Point {
        let all = self.all(metric);
        assert_eq!(all.len(), 1, "{metric}: {self:#?}");
        all[0]
    }
}

impl Read {
    pub(crate) fn begin() -> Self {
        let exporter = InMemoryMetricExporter::default();
        let provider = SdkMeterProvider::builder()
            .with_periodic_exporter(exporter.clone())
            .build();
        let metrics = Metrics::of_meter(&provider.meter("test"));
        Self {
            exporter,
            provider,
            metrics,
        }
    }

    pub(crate) fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    pub(crate) fn points(&self) -> Points {
        self.exporter.reset();
        self.provider.force_flush().unwrap();
        let all = self.exporter.get_finished_metrics().unwrap();
        Points(all.iter().flat_map(points).collect())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is counted here are whole numbers"
)]
fn points(all: &ResourceMetrics) -> Vec<Point> {
    let mut points = Vec::new();
    for metric in all.scope_metrics().flat_map(ScopeMetrics::metrics) {
        let mut add = |attributes: Vec<&opentelemetry::KeyValue>, value| {
            let labels = attributes.into_iter();
            points.push(Point {
                metric: metric.name().to_owned(),
                labels: labels
                    .map(|kv| (kv.key.to_string(), kv.value.to_string()))
                    .collect(),
                value,
            });
        };
        match metric.data() {
            AggregatedMetrics::U64(MetricData::Sum(sum)) => sum
                .data_points()
                .for_each(|it| add(it.attributes().collect(), it.value())),
            AggregatedMetrics::F64(MetricData::Gauge(gauge)) => gauge
                .data_points()
                .for_each(|it| add(it.attributes().collect(), it.value() as u64)),
            AggregatedMetrics::F64(MetricData::Histogram(histogram)) => histogram
                .data_points()
                .for_each(|it| add(it.attributes().collect(), it.count())),
            other => panic!("{other:?}"),
        }
    }
    points
}

/// A call that knows whether the server lists the tool.
#[derive(Clone)]
struct Listed(Call, Option<bool>);

impl ToolCall for Listed {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn method(&self) -> Method {
        self.0.method()
    }

    fn hints(&self) -> Hints {
        self.0.hints()
    }

    fn is_listed(&self) -> Option<bool> {
        self.1
    }

    fn route(&self) -> Route {
        Route::new(Side::Client)
            .with_transport(Transport::Pipe)
            .with_protocol_version("2025-11-25")
    }
}

fn resilience(metrics: Metrics) -> ResilienceLayer {
    ResilienceLayer::builder()
        .log(CallLogLayer::new(Lines::default().and(metrics.clone())))
        .observer(metrics)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn durations_attempts_repeats_waits_and_the_budget_are_counted_by_a_meter() {
    let read = Read::begin();
    let mut script = Script::new([
        Err(Failure::unavailable(None).into()),
        Ok(Answer::ok("fine")),
    ]);
    let tool = service_fn(move |call: Listed| script.call(call.0));
    let stack = resilience(read.metrics()).layer(tool);
    let call = Listed(Call::read_only("quote_price"), Some(true));
    stack.oneshot(call).await.unwrap();

    let points = read.points();
    let duration = points.one("mcp.client.operation.duration");
    for (label, expected) in [
        ("mcp.method.name", Some("tools/call")),
        ("gen_ai.operation.name", Some("execute_tool")),
        ("gen_ai.tool.name", Some("quote_price")),
        ("network.transport", Some("pipe")),
        ("mcp.protocol.version", Some("2025-11-25")),
        ("mcp_resilience.outcome", Some("success")),
        ("error.type", None),
    ] {
        assert_eq!(duration.label(label), expected, "{label}");
    }
    assert_eq!(points.one("mcp_resilience.attempts").value, 2);
    let retries = points.one("mcp_resilience.retries");
    assert_eq!(retries.value, 1);
    assert_eq!(retries.label("class"), Some("unavailable"));
    assert_eq!(points.one("mcp_resilience.wait.duration").value, 1);
    // Ten were saved up.
    assert_eq!(points.one("mcp_resilience.budget.left").value, 9);
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_given_up_are_counted_by_their_reason() {
    let read = Read::begin();
    let down = || Err(Failure::unavailable(None).into());
    let retry = RetryLayer::builder().max_attempts(2).build().unwrap();
    let layer = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .retry(retry)
        .observer(read.metrics());
    let tool = Script::new([down(), down()]);
    let stack = layer.build().unwrap().layer(tool);
    stack.oneshot(Call::read_only("t")).await.unwrap();
    let given_up = read.points().one("mcp_resilience.given_up").clone();
    assert_eq!(given_up.label("reason"), Some("attempts"));
    assert_eq!(given_up.label("gen_ai.tool.name"), Some("t"));
}

#[tokio::test(start_paused = true)]
async fn dials_and_the_state_of_the_connection_are_counted() {
    let read = Read::begin();
    let dials = Arc::new(AtomicU32::new(0));
    let connector = service_fn(move |()| {
        let is_first = dials.fetch_add(1, Relaxed) == 0;
        async move {
            if is_first {
                return Err(Failure::connection("refused"));
            }
            Ok(service_fn(async |_: Call| {
                Err::<Answer, _>(Failure::connection("the connection broke"))
            }))
        }
    });
    let reconnect = ReconnectLayer::builder(()).retry_first_dial();
    let reconnect = reconnect.build().unwrap();
    let (stack, _handle) = resilience(read.metrics()).connect(&reconnect, connector);
    stack.oneshot(Call::tool("reserve")).await.unwrap();
    let points = read.points();
    let dials = points.all("mcp_resilience.dials");
    let of = |outcome| {
        let found = dials
            .iter()
            .find(|dial| dial.label("outcome") == Some(outcome));
        found.unwrap().value
    };
    assert_eq!(of("failed"), 1);
    assert_eq!(of("connected"), 1);
    let lost = points.one("mcp_resilience.connections.lost");
    assert_eq!(lost.label("class"), Some("connection"));
    assert_eq!(points.one("mcp_resilience.connection.up").value, 0);
}

#[tokio::test]
async fn unlisted_names_are_one_label_and_unknown_ones_are_bounded() {
    let read = Read::begin();
    let tool = service_fn(async |_: Listed| Ok::<_, BoxError>(Answer::ok("fine")));
    let layer = CallLogLayer::new(read.metrics());
    for number in 0..1_200 {
        for (name, is_listed) in [("made_up", Some(false)), ("unknown", None)] {
            let call = Listed(Call::tool(&format!("{name}_{number}")), is_listed);
            layer.layer(tool).oneshot(call).await.unwrap();
        }
    }
    let call = Listed(Call::tool("listed"), Some(true));
    layer.layer(tool).oneshot(call).await.unwrap();
    let call = Listed(Call::resource("file:///a"), None);
    layer.layer(tool).oneshot(call).await.unwrap();

    let points = read.points();
    let of = |name: &str| -> Vec<u64> {
        let all = points.all("mcp_resilience.attempts").into_iter();
        all.filter(|point| point.label("gen_ai.tool.name") == Some(name))
            .map(|point| point.value)
            .collect()
    };
    assert_eq!(of("_other"), [1_400]);
    assert_eq!(of("listed"), [1]);
    assert_eq!(of("unknown_999"), [1]);
    assert!(of("unknown_1000").is_empty() && of("made_up_0").is_empty());
    // With the resource, which has no name.
    assert_eq!(points.all("mcp_resilience.attempts").len(), 1_003);
}

/// Fails while the switch is on.
#[derive(Clone, Default)]
struct Full(Arc<AtomicBool>);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.load(Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn lines_that_a_watched_log_loses_are_counted_once() {
    let read = Read::begin();
    let writer = Full::default();
    writer.0.store(true, Relaxed);
    let log = JsonLines::new(writer);
    let metrics = read.metrics().watching(&log);
    let layer = CallLogLayer::new(log.clone().and(metrics));
    let tool = service_fn(async |_: Call| Ok::<_, BoxError>(Answer::ok("fine")));
    for _ in 0..3 {
        let call = layer.layer(tool).oneshot(Call::tool("t"));
        call.await.unwrap();
        log.flush(Duration::from_secs(300));
    }
    // Seen with the next call.
    layer.layer(tool).oneshot(Call::tool("t")).await.unwrap();
    let lost = read.points().one("mcp_resilience.log.lines.lost").value;
    assert!((3..=4).contains(&lost), "{lost}");
}

#[test]
fn the_facade_has_the_same_instruments() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let tool = Script::new([
                Err(Failure::unavailable(None).into()),
                Ok(Answer::flagged("no")),
            ]);
            let stack = resilience(Metrics::facade()).layer(tool);
            stack.oneshot(Call::read_only("quote_price")).await.unwrap();
        });
    });
    let page = handle.render();
    for expected in [
        "mcp_resilience_attempts{mcp_method_name=\"tools/call\",gen_ai_operation_name=\"execute_tool\",gen_ai_tool_name=\"quote_price\"} 2",
        "mcp_resilience_budget_left 9",
        "error_type=\"tool_error\"",
        "mcp_resilience_outcome=\"failed\"",
        "class=\"unavailable\"",
        "# HELP mcp_resilience_retries Repeats, by the class of the failure before.",
    ] {
        assert!(page.contains(expected), "{expected} in {page}");
    }
}
