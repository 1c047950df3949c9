use mcp_resilience::observe::{CallRef, Event, Observer};
use std::sync::{Arc, Mutex};
use tokio::time::Instant;

/// An observer that records each event as a line: the time in milliseconds, the event, and the
/// call, as in `1000 retry_scheduled quote_price#1 unavailable 2s`.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    begun: Instant,
    lines: Arc<Mutex<Vec<String>>>,
    ids: Arc<Mutex<Vec<Option<String>>>>,
}

impl Seen {
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            lines: Arc::default(),
            ids: Arc::default(),
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// The ids of the calls, for each event that has a call.
    pub(crate) fn ids(&self) -> Vec<Option<String>> {
        self.ids.lock().unwrap().clone()
    }
}

impl Observer for Seen {
    fn on_event(&self, event: &Event<'_>) {
        if let Some(call) = event.call() {
            let id = call.id().map(|id| id.to_string());
            self.ids.lock().unwrap().push(id);
        }
        let at = self.begun.elapsed().as_millis();
        let line = format!("{at} {} {}", event.kind(), told(event));
        self.lines.lock().unwrap().push(line);
    }
}

fn told(event: &Event<'_>) -> String {
    match *event {
        Event::RetryScheduled {
            call,
            failure,
            wait,
            ..
        } => format!("{} {} {wait:?}", named(call), failure.class()),
        Event::CallHeld {
            call, class, wait, ..
        } => format!("{} {class} {wait:?}", named(call)),
        Event::GaveUp {
            call,
            failure,
            stopped,
            ..
        } => format!("{} {} {stopped}", named(call), failure.class()),
        Event::BudgetRefused { call, failure, .. } | Event::ResultFlagged { call, failure, .. } => {
            format!("{} {}", named(call), failure.class())
        }
        Event::LimitReached { call, limit, .. } => {
            let setting = limit.limit().setting();
            format!("{} {setting} {:?}", named(call), limit.value())
        }
        Event::Dialing { dial, .. } => format!("{dial}"),
        Event::DialFailed { dial, failure, .. } => format!("{dial} {}", failure.class()),
        Event::Connected {
            dial, generation, ..
        } => format!("{dial} gives {generation}"),
        Event::ConnectionLost {
            generation,
            failure,
            ..
        }
        | Event::ProbeFailed {
            generation,
            failure,
            ..
        } => format!("{generation} {}", failure.class()),
        Event::ProbeStarted { generation, .. } => format!("{generation}"),
        Event::Shut { failure, .. } => failure.chain().to_string(),
        _ => String::from("another event"),
    }
}

fn named(call: CallRef<'_>) -> String {
    match call.attempt() {
        Some(attempt) => format!("{}#{attempt}", call.name()),
        None => call.name().to_owned(),
    }
}
