use super::{policy::Policy, progress::Progress};
use crate::{
    call::ToolCall,
    failure::{BoxError, Class, Failure, Stopped},
};
use pin_project::pin_project;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
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
    #[pin]
    alarm: Alarm,
    progress: Progress<S, Req>,
}

// Calling -> Waiting -> Readying -> Calling, until an outcome is final.
#[pin_project(project = StateProj)]
enum State<F> {
    Calling {
        #[pin]
        answer: F,
    },
    // The failure that is waited out stays, in case it is the last that is heard; the result that
    // it may have held does not.
    Waiting {
        #[pin]
        sleep: Sleep,
        failure: Option<Failure>,
    },
    Readying {
        failure: Option<Failure>,
    },
}

impl<S, Req> ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    pub(super) fn new(answer: S::Future, progress: Progress<S, Req>) -> Self {
        Self {
            state: State::Calling { answer },
            alarm: Alarm::new(progress.policy(), progress.begun()),
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

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let progress = this.progress;
        loop {
            match this.state.as_mut().project() {
                StateProj::Calling { answer } => match answer.poll(cx) {
                    Poll::Ready(Ok(answer)) => {
                        progress.succeed();
                        return Poll::Ready(Ok(answer));
                    }
                    Poll::Ready(Err(error)) => {
                        let mut failure = Failure::from_any(error);
                        match progress.next_wait(&failure) {
                            Ok(wait) => {
                                failure.forget_result();
                                let failure = Some(failure);
                                let sleep = tokio::time::sleep(wait);
                                this.state.set(State::Waiting { sleep, failure });
                            }
                            Err(stopped) => {
                                return Poll::Ready(Err(progress.give_up(failure, stopped)));
                            }
                        }
                    }
                    Poll::Pending => {
                        ready!(this.alarm.poll(cx));
                        let failure = Failure::timeout("no answer within the call's deadline");
                        let stopped = Some(Stopped::Deadline);
                        return Poll::Ready(Err(progress.give_up(failure, stopped)));
                    }
                },
                StateProj::Waiting { sleep, failure } => {
                    ready!(sleep.poll(cx));
                    let failure = failure.take();
                    this.state.set(State::Readying { failure });
                }
                StateProj::Readying { failure } => {
                    let (unready, stopped) = match progress.poll_ready(cx) {
                        Poll::Ready(Ok(())) => {
                            let answer = progress.repeat();
                            this.state.set(State::Calling { answer });
                            continue;
                        }
                        Poll::Ready(Err(error)) => (Failure::from_any(error), Stopped::NotReady),
                        Poll::Pending => {
                            ready!(this.alarm.poll(cx));
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

/// Goes off at the call's deadline. Most calls answer without being waited for even once, so the
/// timer is made only when somebody waits.
#[pin_project(project = AlarmProj)]
enum Alarm {
    Unset {
        at: Option<Instant>,
    },
    Set {
        #[pin]
        sleep: Sleep,
    },
}

impl Alarm {
    fn new(policy: &Policy, begun: Instant) -> Self {
        // A deadline beyond the end of time is none.
        let at = policy.deadline.and_then(|limit| begun.checked_add(limit));
        Self::Unset { at }
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.as_mut().project() {
                AlarmProj::Unset { at: None } => return Poll::Pending,
                AlarmProj::Unset { at: Some(at) } => {
                    let sleep = tokio::time::sleep_until(*at);
                    self.set(Self::Set { sleep });
                }
                AlarmProj::Set { sleep } => return sleep.poll(cx),
            }
        }
    }
}
