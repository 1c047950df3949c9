use super::{
    decide::{self, Verdict},
    policy::{OwnWaits, Policy, Word},
};
use crate::{
    call::ToolCall,
    failure::{Class, Delivery, Failure, Stopped},
    ledger::{self, Retried},
};
use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;
use tower::Service;

/// How far one call has come: its attempts and waits so far, and what a further attempt needs.
pub(super) struct Progress<S, Req> {
    policy: Arc<Policy>,
    word: Word,
    // Gone once the last permitted attempt is made: that one moves the call.
    again: Option<(Req, S)>,
    // When it was first waited for, or failed: a call that answers at once needs no clock.
    begun: Option<Instant>,
    attempt: u32,
    // One new session is the protocol's business; a server that loses each is another matter.
    lost_its_session: bool,
    // An attempt may have run, whatever became of the later ones.
    may_have_run: bool,
    // Most calls never wait, and are the smaller for it.
    waiting: Option<Box<Waiting>>,
}

/// The waits of a call that failed at least once.
struct Waiting {
    source: OwnWaits,
    past: Vec<Duration>,
}

impl<S, Req> Progress<S, Req> {
    /// A call at its first attempt.
    #[inline]
    pub(super) fn new(policy: Arc<Policy>, word: Word, again: Option<(Req, S)>) -> Self {
        Self {
            policy,
            word,
            again,
            begun: None,
            attempt: 1,
            lost_its_session: false,
            may_have_run: false,
            waiting: None,
        }
    }

    /// When the call has to be over; a deadline beyond the end of time is none.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        let limit = self.policy.deadline?;
        self.begun().checked_add(limit)
    }

    fn begun(&mut self) -> Instant {
        *self.begun.get_or_insert_with(Instant::now)
    }

    pub(super) fn is_over(&mut self) -> bool {
        self.deadline()
            .is_some_and(|deadline| deadline <= Instant::now())
    }

    #[inline]
    pub(super) fn succeed(&self) {
        if let Some(budget) = &self.policy.budget {
            budget.deposit();
        }
    }

    /// The wait before the next attempt; or that there is none, and if waiting might have helped,
    /// why.
    pub(super) fn next_wait(&mut self, failure: &Failure) -> Result<Duration, Option<Stopped>> {
        let elapsed = self.begun().elapsed();
        match decide::verdict(failure, self.word) {
            Verdict::Repeat => {}
            Verdict::Final => return Err(None),
            Verdict::MayHaveRun => return Err(Some(Stopped::MayHaveRun)),
        }
        let is_session_loss = failure.class() == Class::SessionLost;
        if self.again.is_none() || (is_session_loss && self.lost_its_session) {
            return Err(Some(Stopped::Attempts));
        }
        self.lost_its_session |= is_session_loss;
        let room = self
            .policy
            .deadline
            .map(|deadline| deadline.saturating_sub(elapsed));
        let waiting = self.waiting.get_or_insert_with(|| {
            Box::new(Waiting {
                source: self.policy.waits.start(),
                past: Vec::new(),
            })
        });
        let ceiling = waiting.source.next().ok_or(Stopped::Attempts)?;
        let wait = if failure.is_paced() && failure.retry_after().is_none() {
            decide::no_wait(room)?
        } else {
            decide::wait(failure.retry_after(), ceiling, room, &self.policy)?
        };
        // Last, so that a repeat that is not made for another reason is not paid for. The end of a
        // good connection or of a session comes to all calls at the same time, and is no sign of too
        // much load: no budget is made for that.
        let is_free = is_session_loss || failure.is_paced();
        let budget = self.policy.budget.as_ref().filter(|_| !is_free);
        if budget.is_some_and(|budget| !budget.withdraw()) {
            return Err(Some(Stopped::Budget));
        }
        waiting.past.push(wait);
        self.may_have_run |= !failure.delivery().did_not_run();
        self.note(failure, wait);
        Ok(wait)
    }

    fn note(&self, failure: &Failure, wait: Duration) {
        tracing::debug!(
            attempt = self.attempt,
            class = failure.class().as_str(),
            wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            error = %failure.chain(),
            "attempt failed and will be repeated"
        );
        ledger::note(|ledger| {
            ledger.retries.push(Retried {
                class: failure.class(),
                code: failure.code().cloned(),
                wait,
                since: Instant::now(),
            });
        });
    }

    /// Signs a failure that is final.
    pub(super) fn give_up(&mut self, mut failure: Failure, stopped: Option<Stopped>) -> Failure {
        if let Some(stopped) = stopped {
            failure.set_stopped(stopped);
        }
        if self.may_have_run && failure.delivery().did_not_run() {
            failure = failure.with_delivery(Delivery::Unknown);
        }
        // A stack further in may have made more than this one's single attempt.
        if self.attempt > 1 {
            let waiting = self.waiting.take();
            let mut waits = waiting.map_or_else(Vec::new, |waiting| waiting.past);
            // One more was waited for an attempt that could not be made.
            waits.truncate(usize::try_from(self.attempt - 1).unwrap_or(usize::MAX));
            failure.set_attempts(self.attempt, waits);
        }
        failure
    }
}

impl<S, Req: ToolCall> Progress<S, Req> {
    /// Looks at the hints again: they may have changed while the call ran.
    pub(super) fn look_again(&mut self) {
        if let (Word::Hinted, Some((call, _))) = (self.word, &self.again)
            && !call.hints().may_repeat()
        {
            self.word = Word::Unsaid;
        }
    }
}

impl<S, Req> Progress<S, Req>
where
    S: Service<Req>,
    Req: Clone,
{
    pub(super) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.kept().1.poll_ready(cx)
    }

    /// Makes the next attempt, on the instance that was made ready for it.
    #[inline]
    pub(super) fn repeat(&mut self) -> S::Future {
        self.attempt += 1;
        ledger::note(|ledger| ledger.attempts = self.attempt);
        if self.attempt < self.policy.max_attempts {
            let (call, service) = self.kept();
            let call = call.clone();
            return service.call(call);
        }
        let (call, mut service) = self.again.take().expect(KEPT);
        service.call(call)
    }

    fn kept(&mut self) -> &mut (Req, S) {
        self.again.as_mut().expect(KEPT)
    }
}

const KEPT: &str = "a wait is begun only while there is a call left to repeat";
