use super::layer::{Shared, Times};
use crate::{
    call::{self, Attempt, Progress, ToolCall},
    failure::{BoxError, Failure, Limit, LimitReached, meanwhile},
    observe::{Event, Name, Observers},
};
use pin_project::pin_project;
use std::{
    pin::Pin,
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

/// The limited attempt. A copy of its limits costs less than a share of all limits, which all calls would count.
pub(super) struct Watched {
    times: Times,
    attempt: Option<Attempt>,
    // Only with an observer of the user's.
    told: Option<Told>,
}

/// Who is told of a limit, and of which call. Boxed, as few attempts have it.
struct Told(Box<Report>);

struct Report {
    observers: Observers,
    name: Name,
}

impl Watched {
    /// A new attempt.
    #[inline]
    pub(super) fn new(shared: &Shared, call: &impl ToolCall) -> Self {
        let observers = &shared.observers;
        Self {
            times: shared.times(call),
            attempt: call.progress().map(Progress::attempt),
            told: observers.is_own().then(|| Told::of(call, observers)),
        }
    }

    /// Waits for the end of a limit.
    fn poll(
        &self,
        timer: &mut Option<Pin<Box<Timer>>>,
        cx: &mut Context<'_>,
    ) -> Poll<LimitReached> {
        let Some((limit, ceiling)) = self.times.get() else {
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
        if let Some(Told(told)) = &self.told {
            let (call, limit) = (told.name.call(None), &reached);
            told.observers.tell(&Event::LimitReached { call, limit });
        }
        let mut failure = Failure::timeout("").because(reached);
        if self.told.is_some() {
            failure.set_limit_told();
        }
        failure
    }
}

impl Told {
    #[cold]
    fn of(call: &impl ToolCall, observers: &Observers) -> Self {
        Self(Box::new(Report {
            observers: observers.clone(),
            name: Name::of(call),
        }))
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

debug_name!(ResponseFuture<F>);
