use super::{
    clock::{now, timestamp},
    line::{Line, key},
    queue::{Counts, Message},
};
use std::{
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Receiver, TryRecvError},
    thread,
    time::Duration,
};
use tracing::Level;

/// How long a line waits at most for a writer that has nothing else to do.
///
/// Waking a thread costs 6 to 8 µs, so a call does not do it while the thread polls by itself.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// How often it polls without a line before it sleeps: for about 1 s.
const LOOKS: u32 = 500;

/// Writes lines until all senders are gone.
pub(super) fn run(writer: impl Write, messages: &Receiver<Message>, counts: &Counts) {
    let mut lines = Lines {
        writer,
        counts,
        reported: 0,
        is_told: false,
    };
    let mut looks = 0;
    loop {
        match messages.try_recv() {
            Ok(Message::Line(line)) => {
                looks = 0;
                lines.write(&line);
                counts.release(line.capacity());
            }
            Ok(Message::Flush(flushed)) => drop(flushed),
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) if looks < LOOKS => {
                looks += 1;
                thread::park_timeout(LOOK_EVERY);
            }
            Err(TryRecvError::Empty) => {
                looks = 0;
                counts.sleep(thread::park);
            }
        }
    }
}

struct Lines<'a, W> {
    writer: W,
    counts: &'a Counts,
    reported: u64,
    is_told: bool,
}

impl<W: Write> Lines<'_, W> {
    fn write(&mut self, line: &String) {
        let is_written = write(&mut self.writer, line);
        if !is_written {
            self.counts.lose();
        }
        let lost = self.counts.lost();
        if lost > self.reported {
            // Told here, and not where a line is lost: that is the task of a call.
            self.tell();
            // The writer works again, and nothing else waits for it.
            if is_written && self.counts.is_last(line.capacity()) {
                let report = report(lost - self.reported);
                if write(&mut self.writer, &report) {
                    self.reported = lost;
                }
            }
        }
    }

    fn tell(&mut self) {
        if !self.is_told {
            self.is_told = true;
            // A subscriber that panics ends its own event, and not the log.
            let _ = catch_unwind(|| {
                tracing::warn!("the call log loses lines: its writer is too slow, or fails");
            });
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

/// The line that says how many lines are missing, with its end.
fn report(lost: u64) -> String {
    let mut line = Line::with_capacity(128);
    line.0.begin('{');
    line.word(key!("timestamp"), &timestamp(now()));
    line.word(key!("level"), Level::WARN.as_str());
    line.word(key!("event"), "lines_lost");
    line.number(key!("lost"), lost);
    line.0.end('}');
    let mut line = line.0.finish();
    line.push('\n');
    line
}
