use super::{
    Record, Sink,
    queue::{Counts, Queue},
};
use crate::{
    failure::{Chain, stderr},
    lock::Mutex,
};
use std::{
    fmt,
    io::Write,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::runtime::Handle;

/// How long the end of the last clone waits for lines that are still to be written.
const LAST_FLUSH: Duration = Duration::from_secs(1);

/// Writes each record as one line of JSON, in one `write`, on a thread of its own.
///
/// The thread starts with the first line. A call never waits for the writer: lines of up to 16 MiB are
/// queued. A line that does not fit is lost and [counted](Self::lost), as is a line that the writer
/// fails to take. Once the writer takes lines again, and no other line waits, a line with the event
/// `lines_lost` says how many are missing.
///
/// The thread looks for lines every 2 ms, so that no call spends time on waking it. After a second
/// without a line it sleeps, and the next call wakes it. When the process is killed, all lines that are
/// still queued are lost: at least those of the last 2 ms, and more if the writer is behind.
///
/// The thread writes what is queued and ends when the last clone is dropped. Outside of a tokio
/// runtime that drop waits up to a second for the lines. Inside of one, as in an async `main`, it
/// does not wait: call [`flush`](Sink::flush) before the process ends, or the last lines may be
/// missing. [`Resilient::run`](crate::rmcp::Resilient::run) does.
///
/// ```
/// use mcp_resilience::call_log::{JsonLines, Sink};
/// use std::time::Duration;
///
/// let log = JsonLines::new(Vec::new()); // or a file
/// log.flush(Duration::from_secs(1)); // before the process ends
/// assert_eq!(log.lost(), 0);
/// ```
#[derive(Clone)]
pub struct JsonLines {
    shared: Arc<Shared>,
}

struct Shared {
    // Taken by the thread.
    writer: Mutex<Option<Box<dyn Write + Send>>>,
    // None where no thread could be started.
    queue: OnceLock<Option<Queue>>,
    counts: Arc<Counts>,
}

impl JsonLines {
    /// Writes to any writer. If no thread can be started for it, every line is lost and counted.
    #[must_use]
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self {
            shared: Arc::new(Shared {
                writer: Mutex::new(Some(Box::new(writer))),
                queue: OnceLock::new(),
                counts: Arc::default(),
            }),
        }
    }

    /// Writes to stderr with a handle of its own. If stderr has no reader, only this log blocks,
    /// and no other code that prints there.
    #[must_use]
    pub fn stderr() -> Self {
        Self::new(stderr())
    }

    /// How many lines were lost so far: the queue was full, or the writer failed.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.shared.counts.lost()
    }
}

impl Sink for JsonLines {
    fn write(&self, record: &Record<'_>) {
        let mut line = record.to_json();
        line.push('\n');
        match self.shared.queue.get_or_init(|| self.shared.start()) {
            Some(queue) => queue.push(line),
            None => self.shared.counts.lose(),
        }
    }

    fn flush(&self, at_most: Duration) {
        if let Some(Some(queue)) = self.shared.queue.get() {
            queue.flush(at_most);
        }
    }
}

impl Shared {
    fn start(&self) -> Option<Queue> {
        let writer = self.writer.lock().take()?;
        match Queue::start(writer, &self.counts) {
            Ok(queue) => Some(queue),
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
        // A thread of a runtime has other tasks to run.
        if let Some(Some(queue)) = self.queue.get()
            && Handle::try_current().is_err()
        {
            queue.flush(LAST_FLUSH);
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
