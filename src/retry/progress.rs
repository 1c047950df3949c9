use super::{
    clock::Clock,
    decide,
    history::History,
    next_attempt::{Moved, NextAttempt},
    settings::{Permission, Settings},
    shares::share,
};
use crate::{
    call::{self, ToolCall},
    failure::{Class, Failure, Stopped},
    ledger::Ledger,
    observe::Event,
    policy::{Limits, Place, Table},
    telemetry::AttemptSpan,
    window::{self, BeginBy},
};
use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;
use tower::Service;

/// The state of one call: its attempts and waits so far, and the service and request for a further
/// attempt.
pub(super) struct Progress<S, Req> {
    table: Arc<Table<Settings>>,
    place: Place,
    permission: Permission,
    pub(super) next: NextAttempt<S, Req>,
    clock: Clock,
    // Boxed: most calls never fail, and stay smaller.
    history: Option<Box<History>>,
    pub(super) ledger: Option<Ledger>,
    pub(super) span: AttemptSpan,
}

impl<S, Req: ToolCall> Progress<S, Req> {
    /// A call before its first attempt.
    #[expect(
        clippy::inline_always,
        reason = "a call that is not inlined copies all fields twice more"
    )]
    #[inline(always)]
    pub(super) fn new(
        table: Arc<Table<Settings>>,
        place: Place,
        permission: Permission,
        next: NextAttempt<S, Req>,
        running: Option<call::Attempt>,
        ledger: Option<Ledger>,
        span: AttemptSpan,
    ) -> Self {
        Self {
            table,
            place,
            permission,
            next,
            clock: Clock::new(running),
            history: None,
            ledger,
            span,
        }
    }

    #[inline]
    pub(super) fn settings(&self) -> &Settings {
        self.table.at(self.place)
    }

    fn limits(&self) -> Limits {
        self.settings().limits
    }

    /// Starts the clock of the call's limits, at the first poll.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.clock.begin();
    }

    /// The end of the call.
    #[inline]
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        self.clock.deadline(&self.table.at(self.place).limits)
    }

    /// Until when a further attempt may begin, and the reason.
    pub(super) fn last_begin(&mut self) -> Option<(Instant, Stopped)> {
        self.clock.last_begin(&self.limits())
    }

    /// Like `last_begin`, but does not start the clock.
    pub(super) fn last_begin_so_far(&mut self) -> Option<(Instant, Stopped)> {
        self.clock.last_begin_so_far(&self.limits())
    }

    /// The number of the attempt, from 1.
    pub(super) fn attempt(&self) -> u32 {
        self.history.as_ref().map_or(1, |call| call.attempts)
    }

    /// Keeps the failure of an attempt until the next one has ended.
    pub(super) fn keep(&mut self, failure: Failure) {
        if let Some(history) = &mut self.history {
            history.failure = Some(failure);
        }
    }

    /// The failure of the previous attempt.
    pub(super) fn take_kept(&mut self) -> Option<Failure> {
        self.history.as_mut()?.failure.take()
    }

    /// The failure of an attempt that ran into the deadline.
    pub(super) fn at_deadline(&mut self) -> Failure {
        let mut before = self.take_kept();
        if let Some(before) = &mut before {
            before.forget_result();
        }
        let reached = self.clock.reached(&self.limits()).after(before);
        let mut failure = Failure::timeout("no answer within the call's deadline").because(reached);
        self.tell_limit(&mut failure);
        failure
    }

    /// The wait before the next attempt. An error if there is none, with the reason if waiting might
    /// have helped.
    pub(super) fn next_wait(&mut self, failure: &mut Failure) -> Result<Duration, Option<Stopped>> {
        self.clock.end_attempt();
        self.tell_limit(failure);
        self.hear(failure);
        self.pass_gate(failure)?;
        let asked = self.asked();
        let settings = self.table.at(self.place);
        let Some(call) = self.next.call() else {
            return Err(Some(Stopped::Attempts));
        };
        let share = share(call);
        let rooms = self.clock.rooms(&settings.limits, failure);
        let history = self
            .history
            .get_or_insert_with(|| Box::new(History::new(settings, share)));
        let is_session_loss = failure.class() == Class::SessionLost;
        if is_session_loss && history.lost_its_session {
            return Err(Some(Stopped::Attempts));
        }
        history.lost_its_session |= is_session_loss;
        let ceiling = history.ceilings.next().ok_or(Stopped::Attempts)?;
        let wait = if failure.is_paced() && failure.retry_after().is_none() {
            let fit = |room: decide::Room| room.fit(Duration::ZERO);
            rooms.into_iter().try_for_each(fit)?;
            Duration::ZERO
        } else {
            let hint = failure.retry_after().max(asked);
            decide::wait(hint, ceiling, rooms, settings).inspect_err(|_| {
                // Tell the caller to wait as long.
                if let Some(asked) = asked.filter(|asked| hint == Some(*asked)) {
                    failure.set_retry_after(asked);
                }
            })?
        };
        // Checked last, so that only repeats that are made cost budget. A lost connection or session
        // affects all calls at the same time and is not a sign of overload, so it costs no budget.
        let is_free = is_session_loss || failure.is_paced();
        let budget = settings.budget.as_ref().filter(|_| !is_free);
        if budget.is_some_and(|budget| !budget.withdraw(share)) {
            self.tell(|call| Event::BudgetRefused { call, failure });
            return Err(Some(Stopped::Budget));
        }
        history.waits.push(wait);
        history.may_have_run |= !failure.delivery().did_not_run();
        self.note(failure, wait);
        Ok(wait)
    }

    /// Whether a repeat is safe. The error is the reason, if waiting might help.
    fn pass_gate(&self, failure: &Failure) -> Result<(), Option<Stopped>> {
        let history = self.history.as_ref();
        let ran_before = history.is_some_and(|call| call.ran_by_old_hints);
        let verdict = decide::verdict(failure, self.permission, ran_before);
        let overrides = &self.settings().overrides;
        overrides.pass(self.next.call(), failure, verdict)
    }

    /// Checks the call again before its repeat, since its hints may have changed during the wait.
    /// Returns the final failure and the reason if a repeat is no longer permitted.
    pub(super) fn pass_again(&mut self) -> Result<(), (Failure, Option<Stopped>)> {
        let before = self.permission;
        self.look_again();
        if self.permission == before {
            return Ok(());
        }
        let Some(failure) = self.take_kept() else {
            return Ok(());
        };
        match self.pass_gate(&failure) {
            Ok(()) => {
                self.keep(failure);
                Ok(())
            }
            Err(stopped) => Err((failure, stopped)),
        }
    }

    #[inline]
    pub(super) fn succeed(&self) {
        if let Some(budget) = &self.settings().budget {
            budget.deposit(|| match (self.next.call(), &self.history) {
                (Some(call), _) => Some(share(call)),
                (None, history) => history.as_ref().map(|call| call.share),
            });
        }
    }

    /// Marks a failure as final.
    pub(super) fn give_up(&mut self, mut failure: Failure, stopped: Option<Stopped>) -> Failure {
        self.span.end();
        if let Some(stopped) = stopped {
            failure.set_stopped(stopped);
        }
        let history = self.history.as_mut();
        let may_have_run = history.as_ref().is_some_and(|call| call.may_have_run);
        if may_have_run && failure.delivery().did_not_run() {
            failure = failure.may_have_run();
        }
        // An inner retry may have counted more attempts than this one.
        if let Some(call) = history.filter(|call| call.attempts > 1) {
            let mut waits = std::mem::take(&mut call.waits);
            // The wait for an attempt that could not be made counts too.
            waits.truncate(usize::try_from(call.attempts - 1).unwrap_or(usize::MAX));
            failure.set_attempts(call.attempts, waits);
        }
        self.tell_given_up(&failure, failure.stopped());
        failure.spent()
    }

    /// Checks the call again, since its hints, and with them its policy, may have changed during
    /// the attempt. A repeat that was not permitted at the start stays forbidden.
    pub(super) fn look_again(&mut self) {
        let mut permission = self.permission;
        if let Some(call) = self.next.call() {
            let place = self.table.find(call);
            if place != self.place {
                permission = self.table.at(place).permission_for(call);
            }
        }
        if permission == Permission::Hinted
            && self.next.hints().is_some_and(|now| !now.may_repeat())
        {
            permission = Permission::Unsaid;
        }
        if permission < self.permission {
            self.permission = permission;
            if let Some(history) = &mut self.history {
                history.ran_by_old_hints |= history.may_have_run;
            }
        }
    }
}

impl<S, Req> Progress<S, Req>
where
    S: Service<Req>,
    Req: ToolCall + Clone,
{
    pub(super) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        match &mut self.next {
            NextAttempt::Kept(_, service) => service.poll_ready(cx),
            NextAttempt::Moved(_) => unreachable!("{KEPT}"),
        }
    }

    /// Makes the next attempt, on the instance that was made ready for it.
    #[inline]
    pub(super) fn repeat(&mut self) -> S::Future {
        // The deadline needs no window: it drops the call.
        let window = self
            .last_begin()
            .filter(|(_, stopped)| *stopped == Stopped::Window);
        let gate = self.gate_below();
        let begin_by = BeginBy::new(window.map(|(at, _)| at), gate);
        if let Some(history) = &mut self.history {
            history.begin_by.clone_from(&begin_by);
            history.attempts += 1;
        }
        let attempt = self.attempt();
        self.note_down(|notes| notes.attempts = attempt);
        let is_last = attempt >= self.settings().max_attempts;
        let NextAttempt::Kept(call, service) = &mut self.next else {
            unreachable!("{KEPT}")
        };
        if !is_last {
            let call = call.clone();
            self.span.next(&call, attempt);
            let called = || call_within(service, call, begin_by.as_ref());
            return self.span.in_scope(called);
        }
        let settings = self.table.at(self.place);
        let moved = NextAttempt::Moved(Moved::of(
            call,
            settings,
            self.permission == Permission::Hinted,
        ));
        let NextAttempt::Kept(call, mut service) = std::mem::replace(&mut self.next, moved) else {
            unreachable!("{KEPT}")
        };
        self.span.next(&call, attempt);
        let called = || call_within(&mut service, call, begin_by.as_ref());
        self.span.in_scope(called)
    }

    /// Whether the failed attempt did not begin, because the window ended. Then it does not count.
    #[inline]
    pub(super) fn take_back(&mut self) -> bool {
        let Some(history) = &mut self.history else {
            return false;
        };
        let is_missed = history.begin_by.as_ref().is_some_and(BeginBy::is_missed);
        if is_missed {
            history.attempts -= 1;
            let attempts = history.attempts;
            self.note_down(|notes| notes.attempts = attempts);
        }
        is_missed
    }
}

/// Makes an attempt that has to begin by this time.
// Not inlined, so that the layers inside are inlined into the first attempt of most calls, which has no
// such time.
#[inline(never)]
pub(super) fn call_within<S: Service<Req>, Req>(
    service: &mut S,
    call: Req,
    begin_by: Option<&BeginBy>,
) -> S::Future {
    window::within(begin_by, || service.call(call))
}

const KEPT: &str = "a wait is begun only while there is a call left to repeat";
