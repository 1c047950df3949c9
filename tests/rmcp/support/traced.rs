use serde_json::Value;
use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};
use tracing::{Dispatch, subscriber::DefaultGuard};
use tracing_subscriber::fmt::MakeWriter;

/// The events and spans of this thread while it is alive.
pub(crate) struct Traced {
    events: Buffer,
    _default: DefaultGuard,
    _second: Dispatch,
}

impl Traced {
    pub(crate) fn begin() -> Self {
        let events = Buffer::default();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_writer(events.clone())
            .finish();
        let default = tracing::subscriber::set_default(subscriber);
        // With a single subscriber, a thread of another test may disable an event's call site for
        // all threads. A second subscriber makes `tracing` ask again.
        let second = Dispatch::new(tracing_subscriber::fmt().with_writer(io::sink).finish());
        tracing::callsite::rebuild_interest_cache();
        Self {
            events,
            _default: default,
            _second: second,
        }
    }

    pub(crate) fn end(self) -> Vec<Value> {
        let text = String::from_utf8(self.events.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Buffer {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
