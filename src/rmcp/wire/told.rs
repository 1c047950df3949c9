use super::Unreadable;
use crate::failure::Failure;
use std::time::Duration;
use tokio::time::Instant;

/// The limit of events for a connection in this time, because the peer may write invalid texts for
/// ever.
const EVENTS: u32 = 10;
const PERIOD: Duration = Duration::from_secs(1);

/// Reports texts that were no messages, at a limited rate.
#[derive(Debug, Default)]
pub(in crate::rmcp) struct Told {
    /// The start of the period, the events in it, and how many texts had none.
    since: Option<Instant>,
    events: u32,
    untold: u64,
}

impl Told {
    /// Whether a text may have an event. Returns how many texts had none since the last.
    pub(in crate::rmcp) fn event(&mut self, text: &Unreadable) -> Option<u64> {
        let now = Instant::now();
        if self.since.is_none_or(|since| now - since >= PERIOD) {
            self.since = Some(now);
            self.events = 0;
        }
        if self.events >= EVENTS {
            self.untold = self.untold.saturating_add(text.count());
            return None;
        }
        self.events += 1;
        Some(std::mem::take(&mut self.untold))
    }
}

/// Why a text of the peer, a client or a server, was skipped.
pub(in crate::rmcp) fn skipped(who: &str, text: Unreadable) -> Failure {
    Failure::invalid_output(format!("the {who} wrote a text that is not a message")).because(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_events_of_a_connection_are_few_and_count_those_that_were_left_out() {
        let mut told = Told::default();
        let text = Unreadable::new("", "").and_more(1);
        let events = (0..1000).filter_map(|_| told.event(&text)).count();
        assert_eq!(events, 10);
        tokio::time::advance(PERIOD).await;
        assert_eq!(told.event(&text), Some(2 * 990));
        assert_eq!(told.event(&text), Some(0));
    }
}
