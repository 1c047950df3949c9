use super::writer;
use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
        mpsc::{SendError, Sender, SyncSender, channel, sync_channel},
    },
    thread::{self, Thread},
    time::Duration,
};

/// How many bytes of lines may wait for the writer.
const CAPACITY: usize = 16 * 1024 * 1024;

/// Lines on their way to the thread of the writer.
///
/// The channel has no bound, so that a full queue costs a call nothing: [`Counts`] bounds it by bytes. The thread
/// ends when this is dropped and all lines are written.
#[derive(Debug)]
pub(super) struct Queue {
    counts: Arc<Counts>,
    // Dropped in this order, so that the woken thread sees the end of the messages.
    messages: Sender<Message>,
    thread: UnparkOnDrop,
}

#[derive(Debug)]
pub(super) enum Message {
    Line(String),
    /// Dropped when all lines before it are written.
    Flush(SyncSender<()>),
}

/// Counters of the calls and of the thread.
#[derive(Debug, Default)]
pub(super) struct Counts {
    lost: AtomicU64,
    /// The memory of the lines that are not yet dealt with.
    bytes: AtomicUsize,
    /// Whether the thread sleeps until it is woken.
    is_asleep: AtomicBool,
}

#[derive(Debug)]
struct UnparkOnDrop(Thread);

impl Queue {
    /// Starts the thread.
    pub(super) fn start(writer: Box<dyn Write + Send>, counts: &Arc<Counts>) -> io::Result<Self> {
        let (messages, waiting) = channel();
        let counted = Arc::clone(counts);
        let thread = thread::Builder::new()
            .name("mcp-call-log".to_owned())
            .spawn(move || writer::run(writer, &waiting, &counted))?;
        Ok(Self {
            counts: Arc::clone(counts),
            messages,
            thread: UnparkOnDrop(thread.thread().clone()),
        })
    }

    /// Hands a line to the thread. A line that does not fit is lost, and counted.
    pub(super) fn push(&self, line: String) {
        let bytes = line.capacity();
        let is_taken = self.counts.reserve(bytes);
        if is_taken && self.messages.send(Message::Line(line)).is_ok() {
            self.counts.wake(&self.thread.0);
            return;
        }
        if is_taken {
            self.counts.release(bytes);
        }
        self.counts.lose();
    }

    /// Waits until the lines taken so far are dealt with, at most so long.
    pub(super) fn flush(&self, at_most: Duration) {
        let (flushed, is_flushed) = sync_channel(0);
        if let Err(SendError(_)) = self.messages.send(Message::Flush(flushed)) {
            return;
        }
        self.thread.0.unpark();
        // Flushed or timed out: stop waiting in both cases.
        let _ = is_flushed.recv_timeout(at_most);
    }
}

impl Counts {
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    pub(super) fn lose(&self) {
        self.lost.fetch_add(1, Relaxed);
    }

    /// Whether a line of this size is the only one in the queue.
    pub(super) fn is_last(&self, bytes: usize) -> bool {
        self.bytes.load(SeqCst) <= bytes
    }

    pub(super) fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, SeqCst);
    }

    /// Runs `sleep` if no line waits. From now on, a caller that sends a line wakes the thread.
    pub(super) fn sleep(&self, sleep: impl FnOnce()) {
        // In this order, and a call in the other one: one of the two sees the other.
        self.is_asleep.store(true, SeqCst);
        if self.bytes.load(SeqCst) == 0 {
            sleep();
        }
        self.is_asleep.store(false, SeqCst);
    }

    fn reserve(&self, bytes: usize) -> bool {
        let before = self.bytes.fetch_add(bytes, SeqCst);
        let fits = before.saturating_add(bytes) <= CAPACITY;
        if !fits {
            self.release(bytes);
        }
        fits
    }

    fn wake(&self, thread: &Thread) {
        // Almost always false, and then nothing is written to what all calls share.
        if self.is_asleep.load(SeqCst) && self.is_asleep.swap(false, SeqCst) {
            thread.unpark();
        }
    }
}

impl Drop for UnparkOnDrop {
    fn drop(&mut self) {
        self.0.unpark();
    }
}
