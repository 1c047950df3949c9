use super::{Record, Sink};
use crate::failure::stderr;
use std::{
    fmt,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

/// How many lines may wait for the writer. At the limit of a line that is 16 MiB.
const CAPACITY: usize = 1024;

/// How long the end of the last clone waits for lines that are still to be written.
const LAST_FLUSH: Duration = Duration::from_secs(1);

/// Writes each record as one line of JSON, in one `write`, on a thread of its own.
///
/// A call never waits for the writer: up to 1024 lines wait for it instead, and what comes on top
/// is lost and [counted](Self::lost), as is a line that the writer fails to take. The thread ends
/// with the last clone, which waits up to a second for the lines that are left. A process that
/// ends otherwise calls [`flush`](Sink::flush) first.
#[derive(Clone)]
pub struct JsonLines {
    shared: Arc<Shared>,
}

struct Shared {
    // Gone while dropping, and where there is no thread.
    lines: Option<SyncSender<String>>,
    progress: Arc<Progress>,
}

/// What went in and what came out.
#[derive(Default)]
struct Progress {
    lost: AtomicU64,
    // Lines taken and not yet dealt with.
    pending: Mutex<u64>,
    less: Condvar,
}

impl JsonLines {
    /// Writes to any writer. If no thread can be started for it, every line is lost and counted.
    #[must_use]
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        let (lines, waiting) = sync_channel(CAPACITY);
        let progress = Arc::new(Progress::default());
        let seen = Arc::clone(&progress);
        let thread = thread::Builder::new()
            .name("mcp-call-log".to_owned())
            .spawn(move || write_all(writer, &waiting, &seen));
        if let Err(error) = &thread {
            tracing::warn!(%error, "the call log has no thread to write on, and is lost");
        }
        Self {
            shared: Arc::new(Shared {
                lines: thread.is_ok().then_some(lines),
                progress,
            }),
        }
    }

    /// Writes to stderr, by a handle of its own: where nobody reads stderr, only this log has to
    /// wait, and not whoever wants to print something.
    #[must_use]
    pub fn stderr() -> Self {
        Self::new(stderr())
    }

    /// How many lines were lost so far: the writer was behind by more than it may be, or failed.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.shared.progress.lost.load(Relaxed)
    }
}

impl Sink for JsonLines {
    fn write(&self, record: &Record<'_>) {
        let mut line = record.to_json();
        line.push('\n');
        let progress = &self.shared.progress;
        progress.add();
        let lines = self.shared.lines.as_ref();
        if lines.is_none_or(|lines| lines.try_send(line).is_err()) {
            progress.done(false);
        }
    }

    fn flush(&self, at_most: Duration) {
        self.shared.progress.wait(at_most);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.lines = None;
        self.progress.wait(LAST_FLUSH);
    }
}

impl Progress {
    fn add(&self) {
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn done(&self, was_written: bool) {
        if !was_written {
            self.lost.fetch_add(1, Relaxed);
        }
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.less.notify_all();
    }

    fn wait(&self, at_most: Duration) {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        // Whether it came to an end in time is all the same: nobody waits longer.
        let _ = self
            .less
            .wait_timeout_while(pending, at_most, |pending| *pending > 0);
    }
}

fn write_all(mut writer: impl Write, lines: &Receiver<String>, progress: &Progress) {
    let mut is_told = false;
    for line in lines {
        // A writer that panicked is tried again with the next line, like one that failed.
        let written = catch_unwind(AssertUnwindSafe(|| {
            writer.write_all(line.as_bytes())?;
            writer.flush()
        }));
        progress.done(matches!(written, Ok(Ok(()))));
        // Told here, and not where a line is lost: that is the task of a call.
        if !is_told && progress.lost.load(Relaxed) > 0 {
            is_told = true;
            tracing::warn!("the call log loses lines: its writer is too slow, or fails");
        }
    }
}

impl fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines")
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}
