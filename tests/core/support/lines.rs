use super::schema;
use mcp_resilience::call_log::{Record, Sink};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// A sink that keeps the lines, and fails the test on one that is not as the schema says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    pub(crate) fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn all(&self) -> Vec<Value> {
        self.texts().iter().map(|line| schema::line(line)).collect()
    }

    /// The line, if there is exactly one.
    pub(crate) fn only(&self) -> Value {
        let all = self.all();
        assert_eq!(all.len(), 1, "exactly one line a call: {all:#?}");
        all.into_iter().next().unwrap()
    }
}

impl Sink for Lines {
    fn write(&self, record: &Record<'_>) {
        self.0.lock().unwrap().push(record.to_json());
    }
}
