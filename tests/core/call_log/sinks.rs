//! Where lines go, and what a bad place does to a call: nothing.

use crate::support::{Answer, Call, Script, in_a_child, is_the_child};
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

#[test]
fn outside_of_a_runtime_the_last_clone_waits_for_what_is_left() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    };
    let writes = Writes::default();
    let sink = JsonLines::new(writes.clone());
    runtime().block_on(call(sink.clone(), 100));
    drop(sink);
    assert_eq!(writes.0.lock().unwrap().len(), 100);
}

#[tokio::test]
async fn inside_of_a_runtime_the_last_clone_blocks_no_thread_and_loses_nothing() {
    let mut least = LONG;
    let mut blocked = Vec::new();
    for _ in 0..20 {
        let (entered, is_in) = channel();
        let (go, waits) = channel();
        let sink = JsonLines::new(Blocked { entered, go: waits });
        call(sink.clone(), 3).await;
        is_in.recv_timeout(LONG).unwrap();
        let begun = tokio::time::Instant::now();
        drop(sink);
        least = least.min(begun.elapsed());
        blocked.push((go, is_in));
    }
    // A drop that waited would take a second, each time.
    assert!(least < Duration::from_secs(1), "{least:?}");
    for (go, is_in) in blocked {
        drop(go);
        let others = [(); 2].map(|()| is_in.recv_timeout(LONG));
        assert!(
            others.iter().all(Result::is_ok),
            "the other two lines: {others:?}"
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_thread_is_started_before_the_first_line() {
    const TEST: &str = "call_log::sinks::no_thread_is_started_before_the_first_line";
    if !is_the_child(TEST) {
        let output = in_a_child(TEST, &[]);
        assert!(output.status.success(), "{output:?}");
        return;
    }
    // In a process of its own, where no other test starts threads.
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")));
        names
            .filter(|name| {
                name.as_ref()
                    .is_ok_and(|name| name.trim() == "mcp-call-log")
            })
            .count()
    };
    let (entered, is_in) = channel();
    let (go, waits) = channel();
    let preset = mcp_resilience::ResilienceLayer::new();
    let sinks = (
        JsonLines::stderr(),
        JsonLines::new(Blocked { entered, go: waits }),
    );
    assert_eq!(threads(), 0);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(call(sinks.1.clone(), 2));
    is_in.recv_timeout(LONG).unwrap();
    assert_eq!(threads(), 1);
    drop(go);
    drop((preset, sinks));
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
