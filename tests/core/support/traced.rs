use serde_json::Value;
use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};
use tracing::Dispatch;
use tracing_subscriber::fmt::{MakeWriter, format::FmtSpan};

/// The output of a JSON subscriber, including the ends of spans. It runs twice, and the second time
/// counts.
pub(crate) async fn traced(run: impl AsyncFn()) -> Vec<Value> {
    let buffer = Buffer::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(buffer.clone())
        .finish();
    let text = seen_by(subscriber, &buffer, run).await;
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The events of that, without the ends of spans.
pub(crate) async fn events_of(run: impl AsyncFn()) -> Vec<Value> {
    let mut all = traced(run).await;
    all.retain(|event| event["fields"]["message"] != "close");
    all
}

/// The same by a subscriber that writes plain text.
pub(crate) async fn traced_as_text(run: impl AsyncFn()) -> String {
    let buffer = Buffer::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(buffer.clone())
        .finish();
    seen_by(subscriber, &buffer, run).await
}

async fn seen_by(subscriber: impl Into<Dispatch>, buffer: &Buffer, run: impl AsyncFn()) -> String {
    let _default = tracing::dispatcher::set_default(&subscriber.into());
    // With a single subscriber, a thread of another test may disable an event's call site for all
    // threads. A second subscriber makes `tracing` ask again.
    let other = tracing_subscriber::fmt().with_writer(io::sink).finish();
    let _second = Dispatch::new(other);
    run().await;
    tracing::callsite::rebuild_interest_cache();
    buffer.0.lock().unwrap().clear();
    run().await;
    String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap()
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
