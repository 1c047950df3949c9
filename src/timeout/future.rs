use super::layer::Shared;
use crate::{
    call::{self, Attempt, Progress, ToolCall},
    failure::{BoxError, Failure, Limit, LimitReached, meanwhile},
    observe::{Event, Name},
    policy::Place,
};
use pin_project::pin_project;
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::time::{Instant, Sleep};

/// Response future of [`Timeout`](super::Timeout).
#[pin_project]
pub struct ResponseFuture<F> {
    #[pin]
    answer: F,
    // Set at the first `Pending`: most calls answer at the first poll. Boxed, since it is large, and futures are moved
    // until they are polled.
    timer: Option<Pin<Box<Timer>>>,
    watched: Watched,
}

/// The limited attempt.
pub(super) struct Watched {
    shared: Arc<Shared>,
    place: Place,
    attempt: Option<Attempt>,
    // Only with an observer of the user's.
    name: Option<Box<Name>>,
}

impl Watched {
    /// A new attempt.
    #[inline]
    pub(super) fn new(shared: &Arc<Shared>, call: &impl ToolCall) -> Self {
        let is_told = shared.observers.is_own();
        let own = call.options().map(|options| shared.with(options, call));
        let shared = own.as_ref().unwrap_or(shared);
        Self {
            place: shared.table.find(call),
            attempt: call.progress().map(Progress::attempt),
            name: is_told.then(|| Box::new(Name::of(call))),
            shared: Arc::clone(shared),
        }
    }

    /// Waits for the end of a limit.
    fn poll(
        &self,
        timer: &mut Option<Pin<Box<Timer>>>,
        cx: &mut Context<'_>,
    ) -> Poll<LimitReached> {
        let limits = self.shared.table.at(self.place);
        let (Some(limit), ceiling) = (limits.attempt, limits.ceiling) else {
            return Poll::Pending;
        };
        let progress = self.attempt.as_ref().map(Attempt::progress);
        let due = |begun| call::due(begun, progress, limit, ceiling);
        if timer.is_none() {
            let begun = Instant::now();
            // A limit that cannot be expressed is ignored.
            *timer = due(begun).map(|due| Timer::until(due, begun));
        }
        let Some(timer) = timer else {
            return Poll::Pending;
        };
        let mut timer = timer.as_mut().project();
        let begun = *timer.begun;
        loop {
            ready!(timer.sleep.as_mut().poll(cx));
            match due(begun) {
                Some(due) if due > timer.sleep.deadline() => timer.sleep.as_mut().reset(due),
                _ => break,
            }
        }
        let is_at_ceiling = call::ends_at_ceiling(begun, progress, limit, ceiling);
        Poll::Ready(if is_at_ceiling {
            LimitReached::new(Limit::Ceiling, ceiling)
        } else {
            LimitReached::new(Limit::Attempt, limit)
        })
    }

    /// The failure of an attempt that ran into a limit.
    fn fail(&self, reached: LimitReached) -> Failure {
        if let Some(name) = &self.name {
            let (call, limit) = (name.call(None), &reached);
            let event = Event::LimitReached { call, limit };
            self.shared.observers.tell(&event);
        }
        let mut failure = Failure::timeout("").because(reached);
        if self.name.is_some() {
            failure.set_limit_told();
        }
        failure
    }
}

#[pin_project]
struct Timer {
    begun: Instant,
    #[pin]
    sleep: Sleep,
}

impl Timer {
    fn until(due: Instant, begun: Instant) -> Pin<Box<Self>> {
        let sleep = tokio::time::sleep_until(due);
        Box::pin(Self { begun, sleep })
    }
}

impl<F> ResponseFuture<F> {
    #[inline]
    pub(super) fn new(watched: Watched, answer: F) -> Self {
        Self {
            answer,
            timer: None,
            watched,
        }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<R, E>>,
    E: Into<BoxError>,
{
    type Output = Result<R, BoxError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // Drops what an earlier attempt left.
        meanwhile::take();
        if let Poll::Ready(answer) = this.answer.poll(cx) {
            return Poll::Ready(answer.map_err(Into::into));
        }
        let reached = ready!(this.watched.poll(this.timer, cx));
        let failure = this.watched.fail(reached.instead(meanwhile::take()));
        Poll::Ready(Err(failure.into()))
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
