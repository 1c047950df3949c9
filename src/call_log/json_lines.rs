use super::{Record, Sink, lines_lost, progress::Progress};
use crate::failure::{Chain, stderr};
use std::{
    fmt,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};
use tokio::runtime::Handle;

/// How many lines may wait for the writer. At the limit of a line that is 16 MiB.
const CAPACITY: usize = 1024;

/// How long the end of the last clone waits for lines that are still to be written.
const LAST_FLUSH: Duration = Duration::from_secs(1);

/// Writes each record as one line of JSON, in one `write`, on a thread of its own.
///
/// The thread starts with the first line. A call never waits for the writer: up to 1024 lines are
/// queued, and each line beyond that is lost and [counted](Self::lost), as is a line that the
/// writer fails to take. Once the writer takes lines again, and no other line waits, a line with the
/// event `lines_lost` says how many are missing.
///
/// The thread writes what is queued and ends when the last clone is dropped. Outside of a tokio
/// runtime that drop waits up to a second for the thread. Inside of one, as in an async `main`, it
/// does not wait: call [`flush`](Sink::flush) before the process ends, or the last lines may be
/// missing. [`Resilient::run`](crate::rmcp::Resilient::run) does.
#[derive(Clone)]
pub struct JsonLines {
    shared: Arc<Shared>,
}

struct Shared {
    // Taken by the thread.
    writer: Mutex<Option<Box<dyn Write + Send>>>,
    // None where there is no thread.
    lines: OnceLock<Option<SyncSender<String>>>,
    progress: Arc<Progress>,
}

impl JsonLines {
    /// Writes to any writer. If no thread can be started for it, every line is lost and counted.
    #[must_use]
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self {
            shared: Arc::new(Shared {
                writer: Mutex::new(Some(Box::new(writer))),
                lines: OnceLock::new(),
                progress: Arc::default(),
            }),
        }
    }

    /// Writes to stderr, by a handle of its own: where nobody reads stderr, only this log has to
    /// wait, and nothing else that prints there.
    #[must_use]
    pub fn stderr() -> Self {
        Self::new(stderr())
    }

    /// How many lines were lost so far: the writer was behind by more than it may be, or failed.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.shared.progress.lost()
    }
}

impl Sink for JsonLines {
    fn write(&self, record: &Record<'_>) {
        let mut line = record.to_json();
        line.push('\n');
        let progress = &self.shared.progress;
        progress.add();
        let lines = self.shared.lines.get_or_init(|| self.shared.start());
        if lines
            .as_ref()
            .is_none_or(|lines| lines.try_send(line).is_err())
        {
            progress.done(false);
        }
    }

    fn flush(&self, at_most: Duration) {
        self.shared.progress.wait(at_most);
    }
}

impl Shared {
    fn start(&self) -> Option<SyncSender<String>> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = writer.take()?;
        let (lines, waiting) = sync_channel(CAPACITY);
        let progress = Arc::clone(&self.progress);
        let thread = thread::Builder::new()
            .name("mcp-call-log".to_owned())
            .spawn(move || write_all(writer, &waiting, &progress));
        match thread {
            Ok(_) => Some(lines),
            Err(error) => {
                tracing::warn!(
                    error = %Chain(&error),
                    "the call log has no thread to write on, and is lost"
                );
                None
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let is_started = self.lines.take().is_some();
        // A thread of a runtime has other tasks to run.
        if is_started && Handle::try_current().is_err() {
            self.progress.wait(LAST_FLUSH);
        }
    }
}

fn write_all(mut writer: impl Write, lines: &Receiver<String>, progress: &Progress) {
    let mut reported = 0;
    let mut is_told = false;
    for line in lines {
        let is_written = write(&mut writer, &line);
        // The writer works again, and nothing else waits for it.
        let lost = progress.lost();
        if is_written && lost > reported && progress.is_last() {
            let report = lines_lost::report(lost - reported);
            if write(&mut writer, &report) {
                reported = lost;
            }
        }
        progress.done(is_written);
        // Told here, and not where a line is lost: that is the task of a call.
        if !is_told && progress.lost() > 0 {
            is_told = true;
            tracing::warn!("the call log loses lines: its writer is too slow, or fails");
        }
    }
}

/// A writer that panicked is tried again with the next line, like one that failed.
fn write(writer: &mut impl Write, line: &str) -> bool {
    let written = catch_unwind(AssertUnwindSafe(|| {
        writer.write_all(line.as_bytes())?;
        writer.flush()
    }));
    matches!(written, Ok(Ok(())))
}

impl fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines")
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}
