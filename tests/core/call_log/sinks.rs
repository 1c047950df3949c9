//! Where lines go, and what a bad place does to a call: nothing.

use crate::support::{Answer, Call, Script};
use mcp_resilience::call_log::{CallLogLayer, JsonLines, Record, Sink};
use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};
use tower::{Layer, ServiceExt, service_fn};

const LONG: Duration = Duration::from_secs(300);

/// Keeps each write by itself.
#[derive(Clone, Default)]
struct Writes(Arc<Mutex<Vec<Vec<u8>>>>);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn call(sink: impl Sink + 'static, times: usize) {
    let tools = CallLogLayer::new(sink).layer(service_fn(async |_: Call| {
        Ok::<_, tower::BoxError>(Answer::ok("fine"))
    }));
    for _ in 0..times {
        let answer = tools.clone().oneshot(Call::tool("t")).await.unwrap();
        assert_eq!(answer, Answer::ok("fine"));
    }
}

#[tokio::test]
async fn each_line_is_one_write_that_ends_in_a_newline() {
    let writes = Writes::default();
    let sink = JsonLines::new(writes.clone());
    call(sink.clone(), 3).await;
    sink.flush(LONG);

    let writes = writes.0.lock().unwrap();
    assert_eq!(writes.len(), 3);
    for write in writes.iter() {
        let (last, json) = write.split_last().unwrap();
        assert_eq!(*last, b'\n');
        assert!(
            serde_json::from_slice::<serde_json::Value>(json)
                .unwrap()
                .is_object()
        );
    }
    assert_eq!(sink.lost(), 0);
}

#[tokio::test]
async fn the_last_clone_waits_for_what_is_left() {
    let writes = Writes::default();
    call(JsonLines::new(writes.clone()), 100).await;
    assert_eq!(writes.0.lock().unwrap().len(), 100);
}

/// Fails in a way of its own, every time.
struct Broken(fn() -> io::Result<usize>);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        (self.0)()
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_writer_that_fails_loses_lines_and_counts_them() {
    for fails in [
        (|| Err(io::ErrorKind::StorageFull.into())) as fn() -> io::Result<usize>,
        || Err(io::ErrorKind::BrokenPipe.into()),
        || Ok(0),
        || panic!("the writer panics"),
    ] {
        let sink = JsonLines::new(Broken(fails));
        call(sink.clone(), 5).await;
        sink.flush(LONG);
        assert_eq!(sink.lost(), 5);
    }
}

/// Blocks until it is let go.
struct Blocked {
    entered: Sender<()>,
    go: Receiver<()>,
}

impl Write for Blocked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.entered.send(());
        let _ = self.go.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_writer_that_hangs_delays_no_call_and_loses_what_exceeds_the_queue() {
    let (entered, is_in) = channel();
    let (go, waits) = channel();
    let sink = JsonLines::new(Blocked { entered, go: waits });
    call(sink.clone(), 1).await;
    is_in.recv_timeout(LONG).unwrap();

    // One is with the writer, 1024 wait, and the rest is lost.
    call(sink.clone(), 1024 + 7).await;
    assert_eq!(sink.lost(), 7);
    sink.flush(Duration::from_millis(1));

    drop(go);
    sink.flush(LONG);
    assert_eq!(sink.lost(), 7);
}

struct Panics;

impl Sink for Panics {
    fn write(&self, _: &Record<'_>) {
        panic!("the sink panics")
    }
}

#[tokio::test]
async fn a_sink_that_panics_fails_no_call() {
    call(Panics, 2).await;
    // Not even where the line is written while the call is dropped.
    let tools = CallLogLayer::new(Panics).layer(Script::timed([(LONG, Ok(Answer::ok("x")))]));
    drop(tools.oneshot(Call::tool("t")));
}
