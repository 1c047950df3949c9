use crate::{
    call::{self, Attempt, Progress, ToolCall},
    failure::{BoxError, Failure, Limit, LimitReached, meanwhile},
    observe::{Event, Name, Observers},
    policy::Limits,
};
use pin_project::pin_project;
use std::{
    fmt,
    pin::Pin,
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
    limit: Option<Duration>,
    ceiling: Duration,
    attempt: Option<Attempt>,
    watch: Option<Box<Watch>>,
}

/// Who is told, and of which call.
pub(super) struct Watch {
    observers: Observers,
    name: Name,
}

impl Watch {
    #[inline]
    pub(super) fn of(observers: &Observers, call: &impl ToolCall) -> Option<Box<Self>> {
        observers.is_own().then(|| {
            Box::new(Self {
                observers: observers.clone(),
                name: Name::of(call),
            })
        })
    }

    fn tell(&self, limit: &LimitReached) {
        if limit.tell() {
            let call = self.name.call(None);
            self.observers.tell(&Event::LimitReached { call, limit });
        }
    }
}

/// Most calls answer without being waited for even once, so it is set only when somebody waits.
#[pin_project(project = TimerProj)]
enum Timer {
    Unset,
    Set(Instant, #[pin] Sleep),
}

impl<F> ResponseFuture<F> {
    #[inline]
    pub(super) fn new(
        limits: &Limits,
        attempt: Option<Attempt>,
        watch: Option<Box<Watch>>,
        answer: F,
    ) -> Self {
        Self {
            answer,
            timer: Timer::Unset,
            limit: limits.attempt,
            ceiling: limits.ceiling,
            attempt,
            watch,
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
        // Whatever another attempt left is not of this one.
        meanwhile::take();
        if let Poll::Ready(answer) = this.answer.poll(cx) {
            return Poll::Ready(answer.map_err(Into::into));
        }
        let Some(limit) = *this.limit else {
            return Poll::Pending;
        };
        let progress = this.attempt.as_ref().map(Attempt::progress);
        let reached = ready!(this.timer.poll(limit, *this.ceiling, progress, cx));
        let reached = reached.instead(meanwhile::take());
        if let Some(watch) = this.watch {
            watch.tell(&reached);
        }
        Poll::Ready(Err(Failure::timeout("").because(reached).into()))
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
            // A limit beyond the end of time is none.
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
