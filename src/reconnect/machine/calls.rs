//! Reports of calls about their connection.

use super::{
    decision::Lost,
    health::{NextStep, ProbeId},
    phase::{Generation, Phase},
    state::Machine,
};
use crate::failure::{Class, Failure};
use std::time::Duration;
use tokio::time::Instant;

impl<C: Clone> Machine<C> {
    /// A call failed because its connection is lost.
    pub(in crate::reconnect) fn lost(
        &mut self,
        generation: Generation,
        failure: &Failure,
        wait: Duration,
        now: Instant,
    ) -> Lost<C> {
        let (stable_after, first_wait) = (self.stable_after, self.first_wait);
        let Some(live) = self.live(generation) else {
            return Lost {
                retired: None,
                is_paced: matches!(self.retired, Some((last, true)) if last == generation),
            };
        };
        let class = failure.class();
        let worth = live.health.worth(class, now, stable_after, first_wait);
        let is_session = class == Class::SessionLost && live.health.has_answered();
        let is_paced = self.outages.lost(worth, failure, wait, now) || is_session;
        Lost {
            retired: self.retire(is_paced),
            is_paced,
        }
    }

    /// A call was answered.
    pub(in crate::reconnect) fn answered(&mut self, generation: Generation) {
        if let Some(live) = self.live(generation) {
            live.health.answered();
        }
    }

    /// The connection in use, unless further answers on it change nothing.
    pub(in crate::reconnect) fn settled(&self) -> Option<Generation> {
        match &self.phase {
            Phase::Connected(live) if live.health.is_settled() => Some(live.generation),
            _ => None,
        }
    }

    /// A call was not answered in time.
    pub(in crate::reconnect) fn timed_out(&mut self, generation: Generation) -> NextStep {
        self.live(generation)
            .map_or(NextStep::Keep, |live| live.health.timed_out())
    }

    /// A call got an answer after which the session may be lost.
    pub(in crate::reconnect) fn doubted(&mut self, generation: Generation) -> NextStep {
        self.live(generation)
            .map_or(NextStep::Keep, |live| live.health.doubted())
    }

    /// A call was dropped after it was sent and before it was answered.
    pub(in crate::reconnect) fn given_up(&mut self, generation: Generation) -> NextStep {
        let limit = self.give_up_limit;
        self.live(generation)
            .map_or(NextStep::Keep, |live| live.health.given_up(limit))
    }

    /// A probe ended. Returns whether the connection has to be retired.
    pub(in crate::reconnect) fn probe_ended(
        &mut self,
        generation: Generation,
        id: ProbeId,
        is_alive: bool,
    ) -> bool {
        self.live(generation)
            .is_some_and(|live| live.health.probe_ended(id, is_alive))
    }
}
