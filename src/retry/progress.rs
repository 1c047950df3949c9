use super::{
    decide::{self, Room},
    settings::{Settings, Word},
    shares::share,
    watch,
};
use crate::{
    backoff::OwnWaits,
    call::{self, HintSource, ToolCall},
    failure::{Class, Failure, Limit, LimitReached, Stopped},
    ledger::{self, Retried},
    observe::{Event, Name},
    policy::Table,
    window::{self, BeginBy},
};
use std::{
    mem,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;
use tower::Service;

/// How far one call has come: its attempts and waits so far, and what a further attempt needs.
pub(super) struct Progress<S, Req> {
    table: Arc<Table<Arc<Settings>>>,
    pub(super) settings: Arc<Settings>,
    word: Word,
    // Only if the call may run twice by its hints, and these may change.
    hint_source: Option<HintSource>,
    // Until when the current attempt may begin, if it is a further one.
    begin_by: Option<BeginBy>,
    // Gone once the last permitted attempt is made: that one moves the call, and its name stays if the
    // user watches.
    pub(super) again: Result<(Req, S), Option<Box<Name>>>,
    // Only if there is a deadline, which follows it.
    running: Option<call::Attempt>,
    // When it was first waited for, or failed: a call that answers at once needs no clock.
    begun: Option<Instant>,
    pub(super) attempt: u32,
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
    // The tool's share of the budget: the last attempt moves the call, and its name with it.
    share: u64,
}

impl<S, Req> Progress<S, Req> {
    /// A call at its first attempt.
    #[inline]
    pub(super) fn new(
        table: Arc<Table<Arc<Settings>>>,
        settings: Arc<Settings>,
        word: Word,
        hint_source: Option<HintSource>,
        again: Result<(Req, S), Option<Box<Name>>>,
        running: Option<call::Attempt>,
    ) -> Self {
        Self {
            table,
            settings,
            word,
            hint_source,
            begin_by: None,
            again,
            running,
            begun: None,
            attempt: 1,
            lost_its_session: false,
            may_have_run: false,
            waiting: None,
        }
    }

    /// The call is waited for: its limits count from the first time.
    #[inline]
    pub(super) fn begin(&mut self) -> Instant {
        *self.begun.get_or_insert_with(Instant::now)
    }

    /// When the call has to be over, as far as it has reported progress; a deadline beyond the end of
    /// time is none.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        let deadline = self.settings.limits.deadline?;
        let ceiling = self.settings.limits.ceiling.max(deadline);
        let begun = self.begin();
        let reports = self.running.as_ref().map(call::Attempt::progress);
        call::due(begun, reports, deadline, ceiling)
    }

    /// Until when a further attempt may begin, and why not later.
    pub(super) fn last_begin(&mut self) -> Option<(Instant, Stopped)> {
        let window = self.settings.limits.retry_window;
        let window = window.and_then(|window| self.begin().checked_add(window));
        match (window, self.deadline()) {
            (Some(window), deadline) if deadline.is_none_or(|deadline| window < deadline) => {
                Some((window, Stopped::Window))
            }
            (_, deadline) => deadline.map(|deadline| (deadline, Stopped::Deadline)),
        }
    }

    /// The failure of an attempt that ran into the deadline.
    pub(super) fn at_deadline(&mut self, before: Option<Failure>) -> Failure
    where
        Req: ToolCall,
    {
        let begun = self.begin();
        let reports = self.running.as_ref().map(call::Attempt::progress);
        let deadline = self.settings.limits.deadline.unwrap_or_default();
        let ceiling = self.settings.limits.ceiling.max(deadline);
        let reached = if call::ends_at_ceiling(begun, reports, deadline, ceiling) {
            LimitReached::new(Limit::Ceiling, ceiling)
        } else {
            LimitReached::new(Limit::Deadline, deadline)
        };
        let reached = reached.after(before);
        let failure = Failure::timeout("no answer within the call's deadline").because(reached);
        self.tell_limit(&failure);
        failure
    }

    /// What is left of the retry window and of the deadline.
    fn rooms(&mut self, failure: &Failure) -> [Room; 2] {
        let now = Instant::now();
        // One that ran into its limit would need that much again.
        let needed = failure.limit().map_or(Duration::ZERO, LimitReached::value);
        let elapsed = now.saturating_duration_since(self.begin());
        let window = self.settings.limits.retry_window;
        let deadline = self.deadline();
        [
            Room {
                left: deadline.map(|deadline| deadline.saturating_duration_since(now)),
                needed: Duration::ZERO,
                stopped: Stopped::Deadline,
            },
            Room {
                left: window.map(|window| window.saturating_sub(elapsed)),
                needed,
                stopped: Stopped::Window,
            },
        ]
    }

    /// The wait before the next attempt; or that there is none, and if waiting might have helped,
    /// why.
    pub(super) fn next_wait(&mut self, failure: &Failure) -> Result<Duration, Option<Stopped>>
    where
        Req: ToolCall,
    {
        // What the attempt reports from here on is too late.
        if let Some(running) = &self.running {
            self.running = Some(running.progress().attempt());
        }
        self.begin();
        self.tell_limit(failure);
        let verdict = decide::verdict(failure, self.word);
        let call = self.again.as_ref().ok().map(|(call, _)| call);
        self.settings.overrides.pass(call, failure, verdict)?;
        let is_session_loss = failure.class() == Class::SessionLost;
        let Ok((call, _)) = &self.again else {
            return Err(Some(Stopped::Attempts));
        };
        if is_session_loss && self.lost_its_session {
            return Err(Some(Stopped::Attempts));
        }
        self.lost_its_session |= is_session_loss;
        let share = share(call);
        let rooms = self.rooms(failure);
        let waiting = self.waiting.get_or_insert_with(|| {
            Box::new(Waiting {
                source: self.settings.waits.start(),
                past: Vec::new(),
                share,
            })
        });
        let ceiling = waiting.source.next().ok_or(Stopped::Attempts)?;
        let wait = if failure.is_paced() && failure.retry_after().is_none() {
            let fit = |room: Room| room.fit(Duration::ZERO);
            rooms.into_iter().try_for_each(fit)?;
            Duration::ZERO
        } else {
            decide::wait(failure.retry_after(), ceiling, rooms, &self.settings)?
        };
        // Last, so that a repeat that is not made for another reason is not paid for. The end of a
        // good connection or of a session comes to all calls at the same time, and is no sign of too
        // much load: no budget is made for that.
        let is_free = is_session_loss || failure.is_paced();
        let budget = self.settings.budget.as_ref().filter(|_| !is_free);
        if budget.is_some_and(|budget| !budget.withdraw(share)) {
            self.tell(|call| Event::BudgetRefused { call, failure });
            return Err(Some(Stopped::Budget));
        }
        waiting.past.push(wait);
        self.may_have_run |= !failure.delivery().did_not_run();
        self.note(failure, wait);
        Ok(wait)
    }

    #[inline]
    pub(super) fn succeed(&self)
    where
        Req: ToolCall,
    {
        if let Some(budget) = &self.settings.budget {
            budget.deposit(|| match (&self.again, &self.waiting) {
                (Ok((call, _)), _) => Some(share(call)),
                (Err(_), waiting) => waiting.as_ref().map(|waiting| waiting.share),
            });
        }
    }

    fn note(&self, failure: &Failure, wait: Duration)
    where
        Req: ToolCall,
    {
        self.tell(|call| Event::RetryScheduled {
            call,
            failure,
            wait,
        });
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
    pub(super) fn give_up(&mut self, mut failure: Failure, stopped: Option<Stopped>) -> Failure
    where
        Req: ToolCall,
    {
        if let Some(stopped) = stopped {
            failure.set_stopped(stopped);
        }
        if self.may_have_run && failure.delivery().did_not_run() {
            failure = failure.may_have_run();
        }
        // A stack further in may have made more than this one's single attempt.
        if self.attempt > 1 {
            let waiting = self.waiting.take();
            let mut waits = waiting.map_or_else(Vec::new, |waiting| waiting.past);
            // One more was waited for an attempt that could not be made.
            waits.truncate(usize::try_from(self.attempt - 1).unwrap_or(usize::MAX));
            failure.set_attempts(self.attempt, waits);
        }
        self.tell_given_up(&failure, failure.stopped());
        failure.spent()
    }
}

impl<S, Req: ToolCall> Progress<S, Req> {
    /// Looks at the call again: its hints may have changed while it ran, and with them its policy. What
    /// was not allowed at its begin stays so.
    pub(super) fn look_again(&mut self) {
        let hints = match (&self.hint_source, &self.again) {
            (Some(source), _) => source.hints(),
            (None, Ok((call, _))) => call.hints(),
            (None, Err(_)) => return,
        };
        let mut word = self.word;
        if let Ok((call, _)) = &self.again {
            let settings = self.table.of(call);
            if !Arc::ptr_eq(settings, &self.settings) {
                word = settings.word_on(call);
            }
        }
        if word == Word::Hinted && !hints.may_repeat() {
            word = Word::Unsaid;
        }
        if word < self.word {
            self.word = word;
        }
    }
}

impl<S, Req> Progress<S, Req>
where
    S: Service<Req>,
    Req: ToolCall + Clone,
{
    pub(super) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.kept().1.poll_ready(cx)
    }

    /// Makes the next attempt, on the instance that was made ready for it.
    #[inline]
    pub(super) fn repeat(&mut self) -> S::Future {
        self.attempt += 1;
        ledger::note(|ledger| ledger.attempts = self.attempt);
        // The deadline drops the call by itself.
        let window = self
            .last_begin()
            .filter(|(_, stopped)| *stopped == Stopped::Window);
        self.begin_by = window.map(|(at, _)| BeginBy::new(at));
        let begin_by = self.begin_by.clone();
        if self.attempt < self.settings.max_attempts {
            let (call, service) = self.kept();
            let call = call.clone();
            return window::within(begin_by.as_ref(), || service.call(call));
        }
        let again = mem::replace(&mut self.again, Err(None));
        let (call, mut service) = again.ok().expect(KEPT);
        self.again = Err(watch::name_kept(&self.settings, &call));
        window::within(begin_by.as_ref(), || service.call(call))
    }

    /// Whether the attempt that failed did not begin, as the window ended. It does not count then.
    pub(super) fn take_back(&mut self) -> bool {
        let is_missed = self.begin_by.as_ref().is_some_and(BeginBy::is_missed);
        if is_missed {
            self.attempt -= 1;
            ledger::note(|ledger| ledger.attempts = self.attempt);
        }
        is_missed
    }

    fn kept(&mut self) -> &mut (Req, S) {
        self.again.as_mut().ok().expect(KEPT)
    }
}

const KEPT: &str = "a wait is begun only while there is a call left to repeat";
