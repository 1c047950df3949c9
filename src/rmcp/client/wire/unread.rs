use super::Unreadable;
use crate::failure::Failure;
use std::{
    error::Error,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The most events of a connection in such a time: a server may write what is no message for ever.
const EVENTS: u32 = 10;
const PERIOD: Duration = Duration::from_secs(1);

/// The texts of a connection that were no messages: how many, and the last.
#[derive(Clone, Debug, Default)]
pub(in crate::rmcp::client) struct Unread(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    count: u64,
    last: Option<Unreadable>,
    /// Since when events are counted, how many there were, and how many texts had none.
    since: Option<Instant>,
    events: u32,
    untold: u64,
}

impl Seen {
    /// Whether one more event may be: how many texts had none since the last.
    fn event(&mut self, count: u64) -> Option<u64> {
        let now = Instant::now();
        if self.since.is_none_or(|since| now - since >= PERIOD) {
            self.since = Some(now);
            self.events = 0;
        }
        if self.events >= EVENTS {
            self.untold = self.untold.saturating_add(count);
            return None;
        }
        self.events += 1;
        Some(std::mem::take(&mut self.untold))
    }
}

impl Unread {
    /// Tells one, unless too many were told of late, and keeps it for the calls that wait.
    pub(in crate::rmcp::client) fn tell(&self, text: Unreadable) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = text.count();
        seen.count = seen.count.saturating_add(count);
        seen.last = Some(text.clone());
        let event = seen.event(count);
        drop(seen);
        let Some(untold) = event else {
            return;
        };
        let failure = Failure::invalid_output("the tool server wrote a text that is no message");
        let failure = failure.because(text);
        tracing::warn!(error = %failure.chain(), untold = untold, "skipped what the tool server wrote");
    }

    pub(in crate::rmcp::client) fn count(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    /// What was skipped after there were that many.
    pub(in crate::rmcp::client) fn since(&self, count: u64) -> Option<Skipped> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = seen.count.saturating_sub(count);
        let last = seen.last.clone().filter(|_| new > 0)?;
        Some(Skipped {
            count: new,
            last,
            source: None,
        })
    }
}

/// Texts that came while a call waited, and were not its answer.
#[derive(Debug)]
pub(in crate::rmcp::client) struct Skipped {
    count: u64,
    last: Unreadable,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Skipped {
    /// Adds what else is known of the failure.
    pub(in crate::rmcp::client) fn because(
        mut self,
        source: Option<Arc<dyn Error + Send + Sync>>,
    ) -> Self {
        self.source = source;
        self
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, last, .. } = self;
        write!(
            f,
            "{count} text(s) of the server were no messages, the last: {last}"
        )
    }
}

impl Error for Skipped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| &**source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_events_of_a_connection_are_few_and_count_those_that_were_left_out() {
        let mut seen = Seen::default();
        let events = (0..1000).filter_map(|_| seen.event(2)).count();
        assert_eq!(events, 10);
        tokio::time::advance(PERIOD).await;
        assert_eq!(seen.event(1), Some(2 * 990));
        assert_eq!(seen.event(1), Some(0));
    }
}
