use super::progress::Progress;
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
    // The deadline, or the wait that is on: no wait is begun that the deadline would cut short.
    #[pin]
    timer: Timer,
    progress: Progress<S, Req>,
}

// Calling -> Waiting -> Readying -> Calling, until an outcome is final.
#[pin_project(project = StateProj)]
enum State<F> {
    // With what failed the attempt before.
    Calling(#[pin] F, Option<Failure>),
    // The failure that is waited out stays, in case it is the last that is heard; the result that
    // it may have held does not.
    Waiting(Option<Failure>),
    Readying(Option<Failure>),
}

impl<S, Req> ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    pub(super) fn new(answer: S::Future, progress: Progress<S, Req>) -> Self {
        Self {
            state: State::Calling(answer, None),
            timer: Timer::Unset,
            progress,
        }
    }
}

impl<S, Req> Future for ResponseFuture<S, Req>
where
    S: Service<Req>,
    S::Error: Into<BoxError>,
    Req: ToolCall + Clone,
{
    type Output = Result<S::Response, Failure>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let progress = this.progress;
        loop {
            match this.state.as_mut().project() {
                StateProj::Calling(answer, before) => match answer.poll(cx) {
                    Poll::Ready(Ok(answer)) => {
                        progress.succeed();
                        return Poll::Ready(Ok(answer));
                    }
                    Poll::Ready(Err(error)) => {
                        let mut failure = Failure::from_any(error);
                        progress.look_again();
                        match progress.next_wait(&failure) {
                            Ok(wait) => {
                                failure.forget_result();
                                this.state.set(State::Waiting(Some(failure)));
                                this.timer.set(Timer::after(wait));
                            }
                            Err(stopped) => {
                                return Poll::Ready(Err(progress.give_up(failure, stopped)));
                            }
                        }
                    }
                    Poll::Pending => {
                        ready!(this.timer.until(progress.deadline(), cx));
                        let failure = Failure::timeout("no answer within the call's deadline");
                        let failure = match before.take() {
                            Some(before) => failure.because(before),
                            None => failure,
                        };
                        let stopped = Some(Stopped::Deadline);
                        return Poll::Ready(Err(progress.give_up(failure, stopped)));
                    }
                },
                StateProj::Waiting(failure) => {
                    ready!(this.timer.as_mut().until(None, cx));
                    let failure = failure.take();
                    this.state.set(State::Readying(failure));
                    this.timer.set(Timer::Unset);
                }
                StateProj::Readying(failure) => {
                    let (unready, stopped) = match progress.poll_ready(cx) {
                        // A timer may be late by as much as the machine slept.
                        Poll::Ready(Ok(())) if progress.is_over() => {
                            (Failure::timeout(""), Stopped::Deadline)
                        }
                        Poll::Ready(Ok(())) => {
                            let answer = progress.repeat();
                            let before = failure.take();
                            this.state.set(State::Calling(answer, before));
                            continue;
                        }
                        Poll::Ready(Err(error)) => (Failure::from_any(error), Stopped::NotReady),
                        Poll::Pending => {
                            ready!(this.timer.until(progress.deadline(), cx));
                            (Failure::timeout(""), Stopped::Deadline)
                        }
                    };
                    // What failed the call tells more than that it could not be made again;
                    // unless nothing can be called here any more.
                    let failure = match failure.take() {
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

/// Goes off at a point in time, or never. Most calls answer without being waited for even once,
/// so it is set only when somebody waits.
#[pin_project(project = TimerProj)]
enum Timer {
    Unset,
    Set(#[pin] Sleep),
}

impl Timer {
    fn after(wait: Duration) -> Self {
        Self::Set(tokio::time::sleep(wait))
    }

    /// Goes off when it was set to, or else at this time.
    fn until(mut self: Pin<&mut Self>, at: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
        if let (TimerProj::Unset, Some(at)) = (self.as_mut().project(), at) {
            let sleep = tokio::time::sleep_until(at);
            self.set(Self::Set(sleep));
        }
        match self.project() {
            TimerProj::Unset => Poll::Pending,
            TimerProj::Set(sleep) => sleep.poll(cx),
        }
    }
}
