use super::{held::unready, progress::Progress, retry_after_gate::Ticket};
use crate::{
    call::ToolCall,
    failure::{BoxError, Class, Failure, Stopped},
};
use pin_project::pin_project;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{Instant, Sleep};
use tower::Service;

/// Response future of [`Retry`](super::Retry).
#[pin_project]
pub struct ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    #[pin]
    state: State<S::Future>,
    // The deadline or the current wait. A wait that does not end before the deadline is not
    // started.
    timer: Timer,
    progress: Progress<S, Req>,
}

// Calling -> Waiting -> Held -> Readying -> Calling, until an outcome is final. A first attempt may be held too.
#[pin_project(project = StateProj)]
enum State<F> {
    Calling(#[pin] F),
    Waiting,
    // Waits for its turn at the gate, if there is one. Boxed, since few calls wait there.
    Held(Option<Box<Ticket>>),
    Readying,
}

impl<S, Req> ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    #[inline]
    pub(super) fn new(answer: S::Future, progress: Progress<S, Req>) -> Self {
        Self {
            state: State::Calling(answer),
            timer: Timer::default(),
            progress,
        }
    }

    /// A call whose first attempt waits at the gate.
    pub(super) fn held(progress: Progress<S, Req>) -> Self {
        Self {
            state: State::Held(None),
            timer: Timer::default(),
            progress,
        }
    }
}

impl<S, Req> Future for ResponseFuture<S, Req>
where
    S: Service<Req> + Clone,
    S::Error: Into<BoxError>,
    Req: ToolCall + Clone,
{
    type Output = Result<S::Response, Failure>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let (progress, timer) = (this.progress, this.timer);
        loop {
            match this.state.as_mut().project() {
                StateProj::Calling(answer) => match progress.span.in_scope(|| answer.poll(cx)) {
                    Poll::Ready(Ok(answer)) => {
                        progress.span.end();
                        progress.succeed();
                        return Poll::Ready(Ok(answer));
                    }
                    Poll::Ready(Err(error)) => {
                        let mut failure = Failure::from_any(error);
                        progress.span.fail(&failure);
                        if progress.take_back() {
                            // The previous failure says more than an attempt that did not begin.
                            failure = progress.take_kept().unwrap_or(failure);
                            let stopped = Some(Stopped::Window);
                            return Poll::Ready(Err(progress.give_up(failure, stopped)));
                        }
                        progress.look_again();
                        let wait = match progress.next_wait(&mut failure) {
                            Ok(wait) => wait,
                            Err(stopped) => {
                                return Poll::Ready(Err(progress.give_up(failure, stopped)));
                            }
                        };
                        progress.keep(failure);
                        timer.stop();
                        if wait.is_zero() {
                            // No timer, but yield to other tasks once.
                            this.state.set(State::Held(None));
                            cx.waker().wake_by_ref();
                            return Poll::Pending;
                        }
                        timer.start(wait);
                        this.state.set(State::Waiting);
                    }
                    Poll::Pending => {
                        progress.begin();
                        ready!(timer.poll(|| progress.deadline(), cx));
                        let failure = progress.at_deadline();
                        progress.span.fail(&failure);
                        let stopped = Some(Stopped::Deadline);
                        return Poll::Ready(Err(progress.give_up(failure, stopped)));
                    }
                },
                StateProj::Waiting => {
                    ready!(timer.poll(|| None, cx));
                    timer.stop();
                    this.state.set(State::Held(None));
                }
                StateProj::Held(ticket) => {
                    if let Err((failure, stopped)) = ready!(progress.pass_held(ticket, timer, cx)) {
                        return Poll::Ready(Err(progress.give_up(failure, Some(stopped))));
                    }
                    timer.stop();
                    this.state.set(State::Readying);
                }
                StateProj::Readying => {
                    let ready = progress.poll_ready(cx);
                    // A timer may be late, for example after the machine slept.
                    let over = progress.last_begin();
                    let over = over.filter(|_| !ready.is_pending());
                    let over = over.filter(|(at, _)| *at <= Instant::now());
                    let (unready, stopped) = match (ready, over) {
                        (Poll::Ready(Ok(())), Some((_, stopped))) => (unready(), stopped),
                        (Poll::Ready(Ok(())), None) if progress.is_held_again() => {
                            timer.stop();
                            progress.give_back();
                            this.state.set(State::Held(None));
                            continue;
                        }
                        (Poll::Ready(Ok(())), None) => {
                            timer.stop();
                            if let Err((failure, stopped)) = progress.pass_again() {
                                return Poll::Ready(Err(progress.give_up(failure, stopped)));
                            }
                            let answer = progress.repeat();
                            this.state.set(State::Calling(answer));
                            continue;
                        }
                        (Poll::Ready(Err(error)), _) => {
                            (Failure::from_any(error), Stopped::NotReady)
                        }
                        (Poll::Pending, _) => {
                            let until = || progress.last_begin().map(|(at, _)| at);
                            ready!(timer.poll(until, cx));
                            let over = progress.last_begin();
                            let stopped = over.map_or(Stopped::NotReady, |(_, stopped)| stopped);
                            (unready(), stopped)
                        }
                    };
                    // The previous failure says more than the error of readiness, unless that says
                    // that no call can be made any more.
                    let failure = match progress.take_kept() {
                        Some(failure) if unready.class() != Class::Fatal => failure,
                        _ => unready,
                    };
                    return Poll::Ready(Err(progress.give_up(failure, Some(stopped))));
                }
            }
        }
    }
}

impl<S, Req> fmt::Debug for ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

/// Fires at a point in time, or never. Boxed, because few calls set it.
#[derive(Default)]
pub(super) struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    fn start(&mut self, wait: Duration) {
        self.0 = Some(Box::pin(tokio::time::sleep(wait)));
    }

    fn stop(&mut self) {
        self.0 = None;
    }

    /// Fires at the time that was set, or else at `due`. If `due` has moved to a later time, goes
    /// on waiting.
    pub(super) fn poll(
        &mut self,
        mut due: impl FnMut() -> Option<Instant>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if self.0.is_none() {
            let Some(due) = due() else {
                return Poll::Pending;
            };
            self.0 = Some(Box::pin(tokio::time::sleep_until(due)));
        }
        let Some(sleep) = &mut self.0 else {
            return Poll::Pending;
        };
        loop {
            ready!(sleep.as_mut().poll(cx));
            match due() {
                Some(due) if due > sleep.deadline() => sleep.as_mut().reset(due),
                _ => return Poll::Ready(()),
            }
        }
    }
}
