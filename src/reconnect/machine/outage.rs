//! How dials are spaced while they fail, and which callers wait for the next dial.

use super::{
    health::Worth,
    ticket::{Ticket, later},
};
use crate::{
    backoff::{Backoff, Ceilings},
    failure::{Failure, Stopped},
    reconnect::{settings::Settings, status::ConnectionState},
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The shortest wait. Without it, full jitter could dial in a tight loop.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

/// After this many refusals in a row, waiting calls fail.
const REFUSALS: u32 = 2;

/// The current outage, if there is one. It lasts from the first failure after a stable connection to
/// the next stable connection.
#[derive(Clone, Debug)]
pub(super) struct Outages {
    current: Option<Outage>,
    /// Why the last stable connection was lost, without an outage since.
    lost: Option<Arc<Failure>>,
    ceilings: Ceilings,
    backoff: Backoff,
    fail_fast_after: Duration,
    failed_dials: u64,
}

#[derive(Clone, Debug)]
struct Outage {
    since: Instant,
    last: Arc<Failure>,
    /// Whether the last failure was a failed dial, and not the loss of a bad connection.
    is_of_dial: bool,
    /// How many dials in a row failed in a way that waiting does not help.
    refusals: u32,
    /// The earliest time of the next dial.
    due: Instant,
    /// Until when the server asked to wait.
    asked_until: Option<Instant>,
}

impl Outages {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            current: None,
            lost: None,
            ceilings: settings.backoff.ceilings(),
            backoff: settings.backoff,
            fail_fast_after: settings.fail_fast_after,
            failed_dials: 0,
        }
    }

    pub(super) fn failure(&self) -> Option<Arc<Failure>> {
        let outage = self.current.as_ref();
        outage
            .map(|outage| &outage.last)
            .or(self.lost.as_ref())
            .cloned()
    }

    pub(super) fn state(&self) -> ConnectionState {
        match (&self.current, &self.lost) {
            (Some(outage), _) => ConnectionState::Failed {
                failure: Arc::clone(&outage.last),
                next_dial: outage.due,
            },
            (None, Some(failure)) => ConnectionState::Lost {
                failure: Arc::clone(failure),
            },
            (None, None) => ConnectionState::Idle,
        }
    }

    /// The ticket of a new call. After a failed dial, it waits for the end of one dial.
    pub(super) fn ticket(&self, now: Instant, ready_timeout: Duration) -> Ticket {
        let is_known = |outage: &Outage| {
            outage.is_of_dial || now.saturating_duration_since(outage.since) > self.fail_fast_after
        };
        match &self.current {
            Some(outage) if is_known(outage) => self.ticket_for_one_dial(now, ready_timeout),
            _ => Ticket::new(now, ready_timeout),
        }
    }

    pub(super) fn ticket_for_one_dial(&self, now: Instant, ready_timeout: Duration) -> Ticket {
        Ticket {
            last_failure: Some(self.failed_dials + 1),
            ..Ticket::new(now, ready_timeout)
        }
    }

    /// When the next dial is due, if that is in the future.
    pub(super) fn due(&self) -> Option<Instant> {
        self.current.as_ref().map(|outage| outage.due)
    }

    pub(super) fn ceiling(&self) -> Duration {
        self.ceilings.clone().next().unwrap_or_default()
    }

    /// Whether the dial that a caller waited for has failed.
    pub(super) fn is_over(&self, ticket: &Ticket) -> bool {
        ticket
            .last_failure
            .is_some_and(|last| self.failed_dials >= last)
    }

    /// The failure of a caller that does not wait for the next dial.
    pub(super) fn refusal(&self, ticket: &Ticket, now: Instant) -> Option<Failure> {
        let outage = self.current.as_ref()?;
        let is_old = now.saturating_duration_since(outage.since) >= self.fail_fast_after;
        let waits_once = ticket.last_failure.is_some();
        let wait = outage.due.saturating_duration_since(now);
        if outage.due >= ticket.until || (waits_once && wait > self.fail_fast_after) {
            let mut failure = outage.failure();
            failure.set_stopped(Stopped::NotReady);
            let asked = outage.asked_until.filter(|asked| *asked > now);
            if let Some(asked) = asked {
                failure = failure.with_retry_after(asked - now);
                failure.set_stopped(Stopped::HintTooLong);
            }
            return Some(failure);
        }
        let is_refused = !waits_once && outage.refusals >= REFUSALS;
        if self.is_over(ticket) || is_refused {
            let mut failure = outage.failure();
            if is_old {
                failure.set_stopped(Stopped::NotReady);
            }
            return Some(failure);
        }
        None
    }

    pub(super) fn too_late(&self, ticket: &Ticket) -> Failure {
        let mut failure = match &self.current {
            Some(outage) => outage.failure(),
            None => Failure::connection(format!(
                "could not connect to the tool server within {:?}, the ready timeout of the layer",
                ticket.ready_timeout
            ))
            .not_sent(),
        };
        // Final, because a repeat would only wait again.
        failure.set_stopped(Stopped::NotReady);
        failure
    }

    pub(super) fn dial_failed(&mut self, failure: Failure, wait: Duration, now: Instant) {
        self.failed_dials += 1;
        self.back_off(failure, true, wait, now);
    }

    /// Returns whether the connection was stable, so that the next dial is due at once.
    pub(super) fn lost(
        &mut self,
        worth: Worth,
        failure: &Failure,
        wait: Duration,
        now: Instant,
    ) -> bool {
        match worth {
            Worth::Nothing => {
                self.back_off(failure.duplicate(), false, wait, now);
                return false;
            }
            // The backoff goes on from here if the next connection is bad too.
            Worth::OneDial => self.current = None,
            Worth::Stable => self.reset(),
        }
        self.lost = Some(Arc::new(failure.duplicate()));
        true
    }

    pub(super) fn reset(&mut self) {
        self.current = None;
        self.lost = None;
        self.ceilings = self.backoff.ceilings();
    }

    fn back_off(&mut self, failure: Failure, is_of_dial: bool, wait: Duration, now: Instant) {
        let ceiling = self.ceilings.next().unwrap_or_default();
        let wait = wait.min(ceiling).max(SHORTEST_WAIT);
        let is_refusal = is_of_dial && !failure.class().heals();
        let refusals = self.current.as_ref().map_or(0, |outage| outage.refusals);
        let asked_until = failure.retry_after().map(|floor| later(now, floor));
        self.lost = None;
        self.current = Some(Outage {
            since: self.current.as_ref().map_or(now, |outage| outage.since),
            last: Arc::new(failure),
            is_of_dial,
            refusals: if is_refusal {
                refusals.saturating_add(1)
            } else {
                0
            },
            due: later(asked_until.unwrap_or(now), wait),
            asked_until,
        });
    }
}

impl Outage {
    /// The failure of a caller whose call was not sent.
    fn failure(&self) -> Failure {
        let failure = if self.is_of_dial {
            self.last.duplicate()
        } else {
            let text =
                "the last connection to the tool server was lost, and the next is not due yet";
            Failure::connection(text).because(self.last.duplicate())
        };
        failure.not_sent()
    }
}
