//! The health of one connection, from the outcomes of its calls.

use crate::failure::Class;
use std::time::Duration;
use tokio::time::Instant;

/// The number of a probe on its connection.
pub(in crate::reconnect) type ProbeId = u64;

/// This many answers make a connection stable.
const STABLE_ANSWERS: u32 = 2;

#[derive(Clone, Debug)]
pub(super) struct Health {
    since: Instant,
    can_be_probed: bool,
    // Dialled without a wait, after a stable connection was lost.
    is_at_once: bool,
    answers: u32,
    // Calls in a row that were given up.
    unanswered: u32,
    probes: ProbeId,
    probe: Option<Probe>,
}

#[derive(Clone, Debug)]
struct Probe {
    id: ProbeId,
    // A call was answered in the meantime.
    is_refuted: bool,
}

/// How long a lost connection lasted. Decides how soon the next dial is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// The next dial has to wait.
    Nothing,
    /// The next dial is due at once, and the backoff does not start again.
    OneDial,
    /// The next dial is due at once, and the backoff starts again.
    Stable,
}

/// The next step after a call without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::reconnect) enum NextStep {
    Keep,
    Probe(ProbeId),
    Retire,
}

impl Health {
    pub(super) fn new(since: Instant, can_be_probed: bool, is_at_once: bool) -> Self {
        Self {
            since,
            can_be_probed,
            is_at_once,
            answers: 0,
            unanswered: 0,
            probes: 0,
            probe: None,
        }
    }

    /// How stable the connection is if it is lost now. `stable_after` makes any connection stable;
    /// `first_wait` is the first ceiling of the backoff.
    pub(super) fn worth(
        &self,
        class: Class,
        now: Instant,
        stable_after: Duration,
        first_wait: Duration,
    ) -> Worth {
        let age = now.saturating_duration_since(self.since);
        if age >= stable_after {
            return Worth::Stable;
        }
        // An answer does not make the connection of a lost session stable: behind a balancer that sends
        // each request to another server, sessions are lost all the time.
        if class == Class::SessionLost || self.answers < STABLE_ANSWERS {
            return Worth::Nothing;
        }
        if age >= first_wait {
            Worth::Stable
        } else if self.is_at_once {
            Worth::Nothing
        } else {
            Worth::OneDial
        }
    }

    pub(super) fn answered(&mut self) {
        self.answers = self.answers.saturating_add(1).min(STABLE_ANSWERS);
        self.unanswered = 0;
        if let Some(probe) = &mut self.probe {
            probe.is_refuted = true;
        }
    }

    pub(super) fn has_answered(&self) -> bool {
        self.answers > 0
    }

    /// Whether one more answer would change nothing.
    pub(super) fn is_settled(&self) -> bool {
        self.answers >= STABLE_ANSWERS && self.unanswered == 0 && self.probe.is_none()
    }

    pub(super) fn timed_out(&mut self) -> NextStep {
        if !self.can_be_probed {
            return NextStep::Retire;
        }
        if self.probe.is_some() {
            return NextStep::Keep;
        }
        self.probes += 1;
        self.probe = Some(Probe {
            id: self.probes,
            is_refuted: false,
        });
        NextStep::Probe(self.probes)
    }

    pub(super) fn doubted(&mut self) -> NextStep {
        if self.can_be_probed {
            self.timed_out()
        } else {
            NextStep::Keep
        }
    }

    pub(super) fn given_up(&mut self, limit: Option<u32>) -> NextStep {
        self.unanswered = self.unanswered.saturating_add(1);
        match limit {
            Some(limit) if self.unanswered >= limit => self.timed_out(),
            _ => NextStep::Keep,
        }
    }

    /// Returns whether the connection has to be retired.
    pub(super) fn probe_ended(&mut self, id: ProbeId, is_alive: bool) -> bool {
        let Some(probe) = self.probe.take_if(|probe| probe.id == id) else {
            return false;
        };
        let is_alive = is_alive || probe.is_refuted;
        if is_alive {
            self.unanswered = 0;
        }
        !is_alive
    }
}
