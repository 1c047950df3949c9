//! Metrics of calls: how long they take, what is repeated, and the state of the connection.
//!
//! [`Metrics`] is a [`Sink`](crate::call_log::Sink) and an [`Observer`](crate::observe::Observer):
//! give one clone to the log, and one to the stack. It records by the facade of the crate `metrics`
//! (feature `metrics`, `Metrics::facade`), or by a meter of OpenTelemetry (feature `otel`,
//! `Metrics::of_meter`).
//!
//! ```
//! # #[cfg(feature = "metrics")] {
//! use mcp_resilience::{
//!     ResilienceLayer,
//!     call_log::{CallLogLayer, JsonLines, Sink},
//!     metrics::Metrics,
//!     observe::{Observer, TracingEvents},
//! };
//!
//! // After the recorder is installed, as `metrics-exporter-prometheus` has one.
//! let log = JsonLines::stderr();
//! let metrics = Metrics::facade().watching(&log);
//! let resilience = ResilienceLayer::builder()
//!     .log(CallLogLayer::new(log.and(metrics.clone())))
//!     .observer(TracingEvents.and(metrics))
//!     .build()?;
//! # let _ = resilience;
//! # }
//! # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
//! ```
//!
//! The example `prometheus` serves them to Prometheus. [The guide](crate::guide::metrics_and_traces)
//! has queries for Grafana.
//!
//! # The instruments
//!
//! The first two are those of OpenTelemetry's conventions for MCP, in the version of
//! [`telemetry`](crate::telemetry), with their labels and buckets. Prometheus writes `_` in place of
//! each dot.
//!
//! | Instrument | Kind, unit | Labels |
//! |---|---|---|
//! | `mcp.server.operation.duration`, `mcp.client.operation.duration` by the [side](crate::call::Side), `mcp_resilience.operation.duration` elsewhere | histogram, s | `mcp.method.name`, `gen_ai.operation.name`, `gen_ai.tool.name` or `gen_ai.prompt.name`, `error.type`, `rpc.response.status_code`, `network.transport`, `mcp.protocol.version`, `mcp_resilience.outcome` |
//! | `mcp_resilience.attempts` | counter | method and name |
//! | `mcp_resilience.retries`: repeats by the class of the failure | counter | method, name, `class` |
//! | `mcp_resilience.wait.duration`: waits before repeats, and at the [shared gate](crate::retry::RetryAfterGate) | histogram, s | method, name, `class` |
//! | `mcp_resilience.given_up`: failed calls that waiting might have helped | counter | method, name, [`reason`](crate::failure::Stopped) |
//! | `mcp_resilience.budget.left`: repeats that the budget would still pay for | gauge | |
//! | `mcp_resilience.dials` | counter | `outcome` (`connected`, `failed`), `class` |
//! | `mcp_resilience.connections.lost` | counter | `class` |
//! | `mcp_resilience.connection.up`: 1 or 0 | gauge | |
//! | `mcp_resilience.log.lines.lost`, of logs that are [watched](Metrics::watching) | counter | |
//!
//! Values of labels are bounded, since a caller may make up any number of names. A tool that the
//! server does not list is `_other`. If the list is unknown, so is every name after the first 1,000.
//! URIs are no labels.
//!
//! A call has `error.type` exactly if its `mcp_resilience.outcome` is `failed`. Line, span and
//! metrics are made of the same record.
//!
//! # When to use it
//!
//! For dashboards and alerts. Why a single call failed is in the [log](crate::call_log) and in the
//! [trace](crate::telemetry).

#[cfg(feature = "metrics")]
mod facade;
mod instrument;
mod labels;
#[cfg(feature = "otel")]
mod meter;
mod names;
mod recording;

pub use self::recording::Metrics;
