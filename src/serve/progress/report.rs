use crate::{
    call::{Pause, Progress, Ticker},
    lock::Mutex,
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// How much a heartbeat adds to the progress: invisible, and less than any step of a tool.
const STEP: f64 = 1e-6;

/// The progress that the client of one call has seen.
#[derive(Debug, Default)]
pub(crate) struct Report {
    // The call's.
    progress: Progress,
    state: Mutex<State>,
    // While a heartbeat is being sent, reports of the tool wait, so that none overtakes it.
    is_beating: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    attempt: Attempt,
    // The highest value so far.
    level: Option<f64>,
    heartbeats: u64,
    // How many reports of the tool there were, and the time of the last.
    reports: u64,
    reported: Option<Instant>,
}

#[derive(Debug, Default)]
enum Attempt {
    #[default]
    None,
    Running {
        number: u32,
        begun: Instant,
        ticker: Ticker,
    },
    Over {
        number: u32,
        begun: Instant,
    },
}

/// An attempt. It ends when this is dropped, even if its end was not awaited.
#[derive(Debug)]
pub(crate) struct Reported {
    report: Arc<Report>,
    number: u32,
}

/// Marks progress that is not a report of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heartbeat {
    // How many reports of the tool there were when it was made.
    reports: u64,
}

/// What to do with a message.
#[derive(Debug)]
pub(crate) enum Verdict {
    Send,
    /// Send it after the heartbeat.
    #[cfg_attr(
        not(feature = "rmcp"),
        allow(dead_code, reason = "tower-mcp sends heartbeats under a lock")
    )]
    After(watch::Receiver<bool>),
    /// A heartbeat. It has been sent when the guard is dropped.
    Beat(Beat),
    Drop,
}

/// A heartbeat that is being sent.
#[derive(Debug)]
pub(crate) struct Beat(Arc<Report>);

impl Report {
    /// An attempt begins: later reports of the tool tick it.
    pub(crate) fn begin(self: &Arc<Self>, number: u32, ticker: Ticker) -> Reported {
        self.state.lock().attempt = Attempt::Running {
            number,
            begun: Instant::now(),
            ticker,
        };
        Reported {
            report: Arc::clone(self),
            number,
        }
    }

    /// When the call was last alive, and what it waits for.
    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// A report of the tool.
    pub(crate) fn pass(&self, progress: &mut f64) -> Verdict {
        let mut state = self.state.lock();
        if let Attempt::Running { ticker, .. } = &state.attempt {
            ticker.tick();
        }
        state.reports += 1;
        state.reported = Some(Instant::now());
        state.raise(progress);
        drop(state);
        let is_beating = *self.is_beating.borrow();
        if is_beating {
            Verdict::After(self.is_beating.subscribe())
        } else {
            Verdict::Send
        }
    }

    /// A heartbeat. It gets its value here, where the order of messages is known. It is not needed if
    /// the tool has reported in the meantime.
    pub(crate) fn beat(self: &Arc<Self>, heartbeat: Heartbeat, progress: &mut f64) -> Verdict {
        let mut state = self.state.lock();
        if state.reports != heartbeat.reports {
            return Verdict::Drop;
        }
        *progress = state.step();
        state.heartbeats += 1;
        drop(state);
        self.is_beating.send_replace(true);
        Verdict::Beat(Beat(Arc::clone(self)))
    }

    /// A heartbeat, unless the tool has reported since this time, or in the attempt that runs; then the
    /// time from which on the silence counts.
    pub(crate) fn heartbeat(&self, since: Instant) -> Result<Heartbeat, Instant> {
        let state = self.state.lock();
        match (state.reported, &state.attempt) {
            (Some(reported), _) if reported > since => Err(reported),
            // A tool that reports by itself and then stops is for the limit of the client to notice.
            (Some(reported), Attempt::Running { begun, .. }) if reported >= *begun => {
                Err(Instant::now())
            }
            _ => Ok(Heartbeat {
                reports: state.reports,
            }),
        }
    }

    /// The message of a heartbeat after this time.
    pub(crate) fn message(&self, elapsed: Duration) -> String {
        let state = self.state.lock();
        let elapsed = seconds(elapsed);
        match state.attempt {
            Attempt::None => format!("waiting to run for {elapsed} s"),
            Attempt::Running { number: 1, .. } => format!("still running after {elapsed} s"),
            Attempt::Running { number, .. } => {
                format!("still running after {elapsed} s, attempt {number}")
            }
            // The pause is that of an earlier attempt if no attempt follows.
            Attempt::Over { number, begun } => {
                match self.progress.pause().filter(|pause| pause.since >= begun) {
                    Some(pause) => waiting(number, pause),
                    None => format!("finishing after {elapsed} s"),
                }
            }
        }
    }

    /// How many heartbeats have left.
    pub(crate) fn heartbeats(&self) -> u64 {
        self.state.lock().heartbeats
    }

    /// The number of the running or last attempt.
    pub(crate) fn attempt(&self) -> Option<u32> {
        match self.state.lock().attempt {
            Attempt::None => None,
            Attempt::Running { number, .. } | Attempt::Over { number, .. } => Some(number),
        }
    }
}

/// Why no attempt follows. All words are ours.
fn waiting(number: u32, pause: Pause) -> String {
    let next = number.saturating_add(1);
    let class = pause.class.as_str();
    if pause.since.elapsed() >= pause.wait {
        return format!("waiting for attempt {next} to begin: attempt {number} failed ({class})");
    }
    let wait = seconds(pause.wait);
    match pause.asked.filter(|asked| !asked.is_zero()) {
        Some(asked) => format!(
            "waiting {wait} s before attempt {next}: attempt {number} failed ({class}) and asked for {} s",
            seconds(asked)
        ),
        None => {
            format!("waiting {wait} s before attempt {next}: attempt {number} failed ({class})")
        }
    }
}

/// Whole seconds, rounded up.
fn seconds(time: Duration) -> u64 {
    let more = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(more)
}

impl State {
    /// Raises a value to the highest so far.
    fn raise(&mut self, value: &mut f64) {
        // Of a number and a NaN, `max` returns the number.
        let level = self.level.map_or(*value, |level| level.max(*value));
        *value = level;
        self.level = Some(level);
    }

    fn step(&mut self) -> f64 {
        let next = match self.level {
            Some(level) => (level + STEP).max(level.next_up()),
            None => 0.0,
        };
        self.level = Some(next);
        next
    }
}

#[cfg(feature = "rmcp")]
impl Verdict {
    pub(crate) fn is_to_send(&self) -> bool {
        !matches!(self, Self::Drop)
    }
}

impl Drop for Reported {
    fn drop(&mut self) {
        let mut state = self.report.state.lock();
        if let Attempt::Running { number, begun, .. } = state.attempt
            && number == self.number
        {
            state.attempt = Attempt::Over { number, begun };
        }
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        self.0.is_beating.send_replace(false);
    }
}
