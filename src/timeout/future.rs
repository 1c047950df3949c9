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
    time::Duration,
};
use tokio::time::{Instant, Sleep};

/// Response future of [`Timeout`](super::Timeout).
#[pin_project]
pub struct ResponseFuture<F> {
    #[pin]
    answer: F,
    #[pin]
    timer: Timer,
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

/// Most calls answer at the first poll, so the timer is set at the first `Pending`.
#[pin_project(project = TimerProj)]
enum Timer {
    Unset,
    Set(Instant, #[pin] Sleep),
}

impl<F> ResponseFuture<F> {
    #[inline]
    pub(super) fn new(watched: Watched, answer: F) -> Self {
        Self {
            answer,
            timer: Timer::Unset,
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
        let limits = this.watched.shared.table.at(this.watched.place);
        let Some(limit) = limits.attempt else {
            return Poll::Pending;
        };
        let progress = this.watched.attempt.as_ref().map(Attempt::progress);
        let reached = ready!(this.timer.poll(limit, limits.ceiling, progress, cx));
        let failure = this.watched.fail(reached.instead(meanwhile::take()));
        Poll::Ready(Err(failure.into()))
    }
}

impl Timer {
    fn poll(
        mut self: Pin<&mut Self>,
        limit: Duration,
        ceiling: Duration,
        progress: Option<&Progress>,
        cx: &mut Context<'_>,
    ) -> Poll<LimitReached> {
        if let TimerProj::Unset = self.as_mut().project() {
            let begun = Instant::now();
            // A limit that cannot be expressed is none.
            let Some(due) = call::due(begun, progress, limit, ceiling) else {
                return Poll::Pending;
            };
            self.set(Self::Set(begun, tokio::time::sleep_until(due)));
        }
        let TimerProj::Set(begun, mut sleep) = self.project() else {
            return Poll::Pending;
        };
        loop {
            ready!(sleep.as_mut().poll(cx));
            match call::due(*begun, progress, limit, ceiling) {
                Some(due) if due > sleep.deadline() => sleep.as_mut().reset(due),
                _ => break,
            }
        }
        let is_at_ceiling = call::ends_at_ceiling(*begun, progress, limit, ceiling);
        Poll::Ready(if is_at_ceiling {
            LimitReached::new(Limit::Ceiling, ceiling)
        } else {
            LimitReached::new(Limit::Attempt, limit)
        })
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
