//! Exports spans and metrics to a collector, or as JSON lines to a writer.

use super::Result;
use chrono::{DateTime, SecondsFormat, Utc};
use opentelemetry::{
    KeyValue, Value as Attribute,
    metrics::{Meter, MeterProvider},
    trace::{SpanKind, Status, TracerProvider},
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    metrics::{
        SdkMeterProvider, Temporality,
        data::{AggregatedMetrics, MetricData, ResourceMetrics, ScopeMetrics},
        exporter::PushMetricExporter,
    },
    trace::{SdkTracerProvider, SpanData, SpanExporter},
};
use serde_json::{Map, Value, json};
use std::{
    env, fmt,
    fs::OpenOptions,
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};
use tracing_subscriber::{Layer as _, layer::SubscriberExt as _};

/// The environment variable with the file for the server's lines.
pub(super) const FILE: &str = "BOOKSHOP_SPANS";

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The exporters of a process.
pub(super) struct Exporting {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl Exporting {
    /// Installs the subscriber of this process.
    pub(super) fn begin(process: &'static str, lines: Lines) -> Result<Self> {
        let resource = Resource::builder()
            .with_service_name(format!("bookshop-{process}"))
            .build();
        let traces = SdkTracerProvider::builder().with_resource(resource.clone());
        let metrics = SdkMeterProvider::builder().with_resource(resource);
        let (traces, metrics) = if env::var_os(ENDPOINT).is_some() {
            let spans = opentelemetry_otlp::SpanExporter::builder()
                .with_http()
                .build()?;
            let numbers = opentelemetry_otlp::MetricExporter::builder()
                .with_http()
                .build()?;
            (
                traces.with_batch_exporter(spans).build(),
                metrics.with_periodic_exporter(numbers).build(),
            )
        } else {
            let exporter = JsonExporter { process, lines };
            (
                // Exported one by one, because a killed process would lose the rest of a batch.
                traces.with_simple_exporter(exporter.clone()).build(),
                metrics.with_periodic_exporter(exporter).build(),
            )
        };
        let spans = tracing_opentelemetry::layer()
            .with_error_events_to_status(false)
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_tracer(traces.tracer("bookshop"));
        let ours = tracing_subscriber::filter::filter_fn(|metadata| {
            metadata.target().starts_with("mcp_resilience")
                || metadata.target().starts_with("telemetry")
        });
        let subscriber = tracing_subscriber::registry().with(spans.with_filter(ours));
        tracing::subscriber::set_global_default(subscriber)?;
        Ok(Self { traces, metrics })
    }

    pub(super) fn meter(&self) -> Meter {
        self.metrics.meter("bookshop")
    }

    /// Exports the remaining spans and metrics.
    pub(super) fn end(self) {
        for (what, ended) in [
            ("traces", self.traces.shutdown()),
            ("metrics", self.metrics.shutdown()),
        ] {
            if let Err(error) = ended {
                eprintln!("{what}: {error}");
            }
        }
    }
}

/// A writer of whole lines.
#[derive(Clone)]
pub(super) struct Lines(Arc<Mutex<dyn Write + Send>>);

pub(super) fn stdout() -> Lines {
    Lines(Arc::new(Mutex::new(io::stdout())))
}

pub(super) fn file(path: &Path) -> Result<Lines> {
    let file = OpenOptions::new().append(true).create(true).open(path)?;
    Ok(Lines(Arc::new(Mutex::new(file))))
}

impl Lines {
    fn write(&self, line: &Value) {
        let line = format!("{line}\n");
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // There is no other place to report this error.
        let _ = writer.write_all(line.as_bytes());
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lines(..)")
    }
}

#[derive(Clone, Debug)]
struct JsonExporter {
    process: &'static str,
    lines: Lines,
}

impl SpanExporter for JsonExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        for span in batch {
            self.lines.write(&span_line(self.process, &span));
        }
        Ok(())
    }
}

fn span_line(process: &str, span: &SpanData) -> Value {
    let kind = match span.span_kind {
        SpanKind::Client => "client",
        SpanKind::Server => "server",
        SpanKind::Producer => "producer",
        SpanKind::Consumer => "consumer",
        SpanKind::Internal => "internal",
    };
    let (status, description) = match &span.status {
        Status::Unset => ("unset", None),
        Status::Ok => ("ok", None),
        Status::Error { description } => ("error", Some(description)),
    };
    let links: Vec<_> = span
        .links
        .iter()
        .map(|link| {
            let context = &link.span_context;
            json!({
                "trace_id": context.trace_id().to_string(),
                "span_id": context.span_id().to_string(),
            })
        })
        .collect();
    let parent = span.parent_span_id;
    let is_root = parent == opentelemetry::trace::SpanId::INVALID;
    json!({
        "process": process,
        "trace_id": span.span_context.trace_id().to_string(),
        "span_id": span.span_context.span_id().to_string(),
        "parent_span_id": (!is_root).then(|| parent.to_string()),
        "name": span.name,
        "kind": kind,
        "start": timestamp(span.start_time),
        "end": timestamp(span.end_time),
        "status": status,
        "description": description,
        "attributes": attributes(span.attributes.iter()),
        "links": links,
    })
}

fn timestamp(at: SystemTime) -> String {
    DateTime::<Utc>::from(at).to_rfc3339_opts(SecondsFormat::Micros, true)
}

fn attributes<'a>(all: impl Iterator<Item = &'a KeyValue>) -> Map<String, Value> {
    let json = |value: &Attribute| match value {
        Attribute::Bool(value) => json!(value),
        Attribute::I64(value) => json!(value),
        Attribute::F64(value) => json!(value),
        other => json!(other.as_str()),
    };
    all.map(|kv| (kv.key.to_string(), json(&kv.value)))
        .collect()
}

impl PushMetricExporter for JsonExporter {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        for metric in metrics.scope_metrics().flat_map(ScopeMetrics::metrics) {
            let point = |labels: Map<String, Value>, values: Value| {
                let mut line = json!({
                    "process": self.process,
                    "metric": metric.name(),
                    "unit": metric.unit(),
                    "attributes": labels,
                });
                if let (Value::Object(line), Value::Object(values)) = (&mut line, values) {
                    line.extend(values);
                }
                self.lines.write(&line);
            };
            match metric.data() {
                AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                    for it in sum.data_points() {
                        point(attributes(it.attributes()), json!({"value": it.value()}));
                    }
                }
                AggregatedMetrics::F64(MetricData::Gauge(gauge)) => {
                    for it in gauge.data_points() {
                        point(attributes(it.attributes()), json!({"value": it.value()}));
                    }
                }
                AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                    for it in histogram.data_points() {
                        let values = json!({"count": it.count(), "sum": it.sum()});
                        point(attributes(it.attributes()), values);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}
