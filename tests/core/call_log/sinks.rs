//! Sinks, and that a failing sink does not affect calls.

use crate::support::{Answer, Call, Lines, Script, in_a_child, is_the_child, schema};
use mcp_resilience::call_log::{CallLogLayer, JsonLines, Record, Sink};
use serde_json::json;
use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};
use tower::{BoxError, Layer, ServiceExt, service_fn};

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
        Ok::<_, BoxError>(Answer::ok("fine"))
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
    // In another process, where no other test starts threads.
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

/// Fails with this error every time.
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

/// Blocks until it is released.
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
async fn a_writer_that_hangs_delays_no_call_and_lines_beyond_16_mib_are_lost() {
    const LINES: usize = 5_000;
    let (entered, is_in) = channel();
    let (go, waits) = channel();
    let sink = JsonLines::new(Blocked { entered, go: waits });
    let tools = CallLogLayer::new(sink.clone()).layer(service_fn(async |_: Call| {
        Ok::<_, BoxError>(Answer::ok("fine"))
    }));
    let long = Call::tool("t").arguments(json!({ "text": "x".repeat(4_000) }));
    for _ in 0..LINES {
        tools.clone().oneshot(long.clone()).await.unwrap();
    }
    sink.flush(Duration::from_millis(1));
    let lost = usize::try_from(sink.lost()).unwrap();

    drop(go);
    sink.flush(LONG);
    let written = is_in.try_iter().count();
    // The lines, and the report of those that are missing.
    assert_eq!(written, LINES - lost + 1);
    assert_eq!(sink.lost(), lost as u64);
    let queued = written * 4_000;
    assert!((12 << 20..=16 << 20).contains(&queued), "{queued}");
}

#[tokio::test]
async fn a_line_after_a_long_silence_wakes_the_writer() {
    let (entered, is_in) = channel();
    let (go, waits) = channel();
    drop(go);
    let sink = JsonLines::new(Blocked { entered, go: waits });
    for _ in 0..2 {
        call(sink.clone(), 1).await;
        is_in.recv_timeout(LONG).unwrap();
        // The thread looks for lines for a second, and then sleeps.
        tokio::task::spawn_blocking(|| std::thread::park_timeout(Duration::from_millis(1_500)))
            .await
            .unwrap();
    }
    call(sink, 1).await;
    is_in.recv_timeout(LONG).unwrap();
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

#[tokio::test]
async fn each_record_goes_to_every_sink_also_if_one_panics() {
    let (first, last) = (Lines::default(), Lines::default());
    let counted = Arc::new(Mutex::new(0));
    let count = {
        let counted = Arc::clone(&counted);
        move |_: &Record<'_>| *counted.lock().unwrap() += 1
    };
    let sink = first.clone().and(Panics).and(count).and(last.clone());
    call(sink, 3).await;
    assert_eq!(first.all().len(), 3);
    assert_eq!(last.all(), first.all());
    assert_eq!(*counted.lock().unwrap(), 3);
}

#[tokio::test]
async fn a_filter_passes_on_what_is_wanted_and_flushes_the_sink_within() {
    let writes = Writes::default();
    let lines = JsonLines::new(writes.clone());
    let sink = Arc::new(lines.filter(|record: &Record<'_>| record.name() != "t"));
    call(Arc::clone(&sink), 2).await;
    let other = CallLogLayer::new(Arc::clone(&sink)).layer(Script::new([Ok(Answer::ok("x"))]));
    other.oneshot(Call::tool("wanted")).await.unwrap();
    sink.flush(LONG);
    let writes = writes.0.lock().unwrap();
    assert_eq!(writes.len(), 1);
    let line = schema::line(str::from_utf8(&writes[0]).unwrap().trim_end());
    assert_eq!(line["tool"], "wanted");
}

/// Fails while the switch is on.
#[derive(Clone, Default)]
struct Full {
    fails: Arc<AtomicBool>,
    panics: bool,
    written: Writes,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.fails.load(Relaxed) {
            assert!(!self.panics, "the writer panics");
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.written.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn lines_that_were_lost_are_counted_and_told_once_the_writer_works_again() {
    for panics in [false, true] {
        let writer = Full {
            panics,
            ..Full::default()
        };
        let sink = JsonLines::new(writer.clone());
        let events = |written: &Writes| -> Vec<(String, u64)> {
            let written = written.0.lock().unwrap();
            let lines = written.iter().map(|write| str::from_utf8(write).unwrap());
            lines
                .map(|line| {
                    let line = schema::line(line.strip_suffix('\n').unwrap());
                    let lost = line["lost"].as_u64().unwrap_or(0);
                    (line["event"].as_str().unwrap().to_owned(), lost)
                })
                .collect()
        };
        let of = |event: &str, lost| (event.to_owned(), lost);
        call(sink.clone(), 1).await;
        sink.flush(LONG);
        for lost in [3, 2] {
            writer.fails.store(true, Relaxed);
            call(sink.clone(), lost).await;
            sink.flush(LONG);
            writer.fails.store(false, Relaxed);
            call(sink.clone(), 1).await;
            sink.flush(LONG);
        }
        call(sink.clone(), 1).await;
        sink.flush(LONG);
        assert_eq!(sink.lost(), 5);
        assert_eq!(
            events(&writer.written),
            [
                of("call", 0),
                of("call", 0),
                of("lines_lost", 3),
                of("call", 0),
                of("lines_lost", 2),
                of("call", 0),
            ],
            "panics: {panics}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_calls_at_once_with_the_longest_lines_leave_whole_lines() {
    let writes = Writes::default();
    let sink = JsonLines::new(writes.clone());
    let tools = CallLogLayer::new(sink.clone()).layer(service_fn(async |call: Call| {
        tokio::task::yield_now().await;
        Err::<Answer, _>(BoxError::from("\u{7}".repeat(4096) + &call.name))
    }));
    let calls: Vec<_> = (0..1000)
        .map(|number| {
            let name = format!("{number}-{}", "n".repeat(300));
            let arguments = json!({ "text": "\u{1}".repeat(8192), "number": number });
            tokio::spawn(
                tools
                    .clone()
                    .oneshot(Call::tool(&name).arguments(arguments)),
            )
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap_err();
    }
    sink.flush(LONG);
    let writes = writes.0.lock().unwrap();
    let mut names: Vec<String> = writes
        .iter()
        .map(|write| {
            let line = str::from_utf8(write).unwrap();
            let line = schema::line(line.strip_suffix('\n').unwrap());
            line["tool"].as_str().unwrap().to_owned()
        })
        .collect();
    names.sort();
    names.dedup();
    // The queue holds all of them.
    assert_eq!(names.len() as u64 + sink.lost(), 1000);
    assert_eq!(sink.lost(), 0);
}
