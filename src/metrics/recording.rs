use super::{
    instrument::Instrument,
    labels::{Backend, Labels},
    names::Names,
};
use crate::{
    call::{Method, Side, Transport},
    call_log::{JsonLines, Record, Sink},
    observe::{CallRef, Event, Observer},
    text::{NAME_LIMIT, escaped, shown_name},
};
use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Records calls as a [`Sink`], and decisions as an [`Observer`].
///
/// Clones record into the same instruments. See the [module page](super) for the instruments and an
/// example. A sink alone records no repeats, dials and connections. An observer alone records no
/// durations and attempts.
///
/// ```
/// # #[cfg(feature = "otel")] {
/// use mcp_resilience::{
///     ResilienceLayer,
///     call_log::{CallLogLayer, JsonLines, Sink},
///     metrics::Metrics,
/// };
///
/// let metrics = Metrics::of_meter(&opentelemetry::global::meter("bookshop"));
/// let resilience = ResilienceLayer::builder()
///     .log(CallLogLayer::new(JsonLines::stderr().and(metrics.clone())))
///     .observer(metrics)
///     .build()?;
/// # let _ = resilience;
/// # }
/// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
/// ```
#[derive(Clone)]
pub struct Metrics {
    shared: Arc<Shared>,
    watched: Option<Watched>,
}

struct Shared {
    backend: Box<dyn Backend>,
    names: Names,
}

/// A log, and how many of its lost lines are counted.
#[derive(Clone)]
struct Watched {
    log: JsonLines,
    counted: Arc<AtomicU64>,
}

impl Metrics {
    /// Records by the facade of the crate `metrics`, into the recorder that is installed at that
    /// time. The descriptions go to the recorder that is installed now, so install it first.
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn facade() -> Self {
        Self::new(super::facade::Facade::new())
    }

    /// Records by the instruments of a meter.
    #[cfg(feature = "otel")]
    #[must_use]
    pub fn of_meter(meter: &opentelemetry::metrics::Meter) -> Self {
        Self::new(super::meter::Instruments::new(meter))
    }

    fn new(backend: impl Backend + 'static) -> Self {
        Self {
            shared: Arc::new(Shared {
                backend: Box::new(backend),
                names: Names::default(),
            }),
            watched: None,
        }
    }

    /// Counts the lost lines of this log too, at the next call or event.
    #[must_use]
    pub fn watching(mut self, log: &JsonLines) -> Self {
        self.watched = Some(Watched {
            log: log.clone(),
            counted: Arc::default(),
        });
        self
    }

    fn count(&self, counter: Instrument, labels: &Labels<'_>) {
        self.shared.backend.add(counter, 1, labels);
    }

    fn count_lost_lines(&self) {
        let Some(watched) = &self.watched else {
            return;
        };
        let lost = watched.log.lost();
        let before = watched.counted.fetch_max(lost, Relaxed);
        if let Some(more) = lost.checked_sub(before).filter(|more| *more > 0) {
            let labels = Labels::none();
            self.shared
                .backend
                .add(Instrument::LinesLost, more, &labels);
        }
    }

    /// The name as a label. Empty for a URI.
    fn label<'a>(
        &self,
        method: Method,
        name: impl FnOnce() -> Cow<'a, str>,
        is_listed: Option<bool>,
    ) -> Cow<'a, str> {
        match method {
            Method::ReadResource => Cow::Borrowed(""),
            Method::CallTool | Method::GetPrompt => self.shared.names.bounded(name(), is_listed),
        }
    }

    fn label_of(&self, call: CallRef<'_>) -> Cow<'static, str> {
        let name = || Cow::Owned(shown_name(call.name()));
        self.label(call.method(), name, call.is_listed())
    }
}

impl Sink for Metrics {
    fn write(&self, record: &Record<'_>) {
        let backend = &*self.shared.backend;
        let name = || Cow::Owned(escaped(record.name(), NAME_LIMIT, &[]));
        let name = self.label(record.method(), name, record.is_listed());
        let route = record.route();
        let duration = match route.side() {
            Side::Server => Instrument::ServerDuration,
            Side::Client => Instrument::ClientDuration,
            Side::Internal => Instrument::OtherDuration,
        };
        let transport = route.transport().map(Transport::as_str);
        // Any text, if it is of another server.
        let version = route.protocol_version().map(shown_name);
        let labels = Labels::of_call(record.method(), &name)
            .with_some("error.type", record.error_type())
            .with_some("rpc.response.status_code", record.status_code())
            .with_some("network.transport", transport)
            .with_some("mcp.protocol.version", version.as_deref())
            .with("mcp_resilience.outcome", record.outcome().as_str());
        backend.record(duration, record.latency().as_secs_f64(), &labels);
        let labels = Labels::of_call(record.method(), &name);
        backend.add(Instrument::Attempts, record.attempts().into(), &labels);
        self.count_lost_lines();
    }
}

impl Observer for Metrics {
    fn on_event(&self, event: &Event<'_>) {
        let backend = &*self.shared.backend;
        match *event {
            Event::RetryScheduled {
                call,
                failure,
                wait,
                budget_left,
            } => {
                let name = self.label_of(call);
                let labels =
                    Labels::of_call(call.method(), &name).with("class", failure.class().as_str());
                self.count(Instrument::Retries, &labels);
                backend.record(Instrument::Waits, wait.as_secs_f64(), &labels);
                if let Some(left) = budget_left {
                    backend.set(Instrument::BudgetLeft, f64::from(left), &Labels::none());
                }
            }
            Event::CallHeld { call, class, wait } => {
                let name = self.label_of(call);
                let labels = Labels::of_call(call.method(), &name).with("class", class.as_str());
                backend.record(Instrument::Waits, wait.as_secs_f64(), &labels);
            }
            Event::BudgetRefused { .. } => {
                backend.set(Instrument::BudgetLeft, 0.0, &Labels::none());
            }
            Event::GaveUp { call, stopped, .. } => {
                let name = self.label_of(call);
                let labels = Labels::of_call(call.method(), &name).with("reason", stopped.as_str());
                self.count(Instrument::GivenUp, &labels);
            }
            Event::Connected { .. } => {
                let labels = Labels::none().with("outcome", "connected");
                self.count(Instrument::Dials, &labels);
                backend.set(Instrument::ConnectionUp, 1.0, &Labels::none());
            }
            Event::DialFailed { failure, .. } => {
                let labels = Labels::none()
                    .with("outcome", "failed")
                    .with("class", failure.class().as_str());
                self.count(Instrument::Dials, &labels);
            }
            Event::ConnectionLost { failure, .. } => {
                let labels = Labels::none().with("class", failure.class().as_str());
                self.count(Instrument::ConnectionsLost, &labels);
                backend.set(Instrument::ConnectionUp, 0.0, &Labels::none());
            }
            _ => {}
        }
        self.count_lost_lines();
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("is_watching", &self.watched.is_some())
            .finish_non_exhaustive()
    }
}
