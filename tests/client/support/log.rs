use super::schema;
use mcp_resilience::call_log::{Record, Sink};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// The log lines so far.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Value>>>);

impl Log {
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }

    /// The only line of a client that made one call.
    #[track_caller]
    pub(crate) fn line(&self) -> Value {
        let lines = self.lines();
        assert_eq!(lines.len(), 1, "one line for one call: {lines:?}");
        lines[0].clone()
    }
}

impl Sink for Log {
    fn write(&self, record: &Record<'_>) {
        let line = schema::line(&record.to_json());
        self.0.lock().unwrap().push(line);
    }
}
