use super::ready_timeout::ReadyTimeout;
use crate::{
    failure::{BoxError, Failure, Limit, LimitReached},
    window::{self, BeginBy},
};
use pin_project::pin_project;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::time::{Instant, Sleep};
use tower::Service;

/// Response future of [`AlwaysReady`](super::AlwaysReady).
#[pin_project]
pub struct ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    #[pin]
    state: State<S, S::Future, Req>,
}

#[pin_project(project = StateProj)]
enum State<S, F, Req> {
    Calling(#[pin] F),
    // Boxed: it holds the request and the service, and most calls need neither.
    Waiting(Box<Waiting<S, Req>>),
}

struct Waiting<S, Req> {
    service: S,
    call: Option<Req>,
    ready_timeout: ReadyTimeout,
    // Set if this is a repeat.
    begin_by: Option<BeginBy>,
    timer: Option<Pin<Box<Sleep>>>,
    // While the server asked another call to wait.
    held: Option<Pin<Box<Sleep>>>,
}

impl<S, Req> ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    #[inline]
    pub(super) fn calling(answer: S::Future) -> Self {
        let state = State::Calling(answer);
        Self { state }
    }

    /// Created in the layer's `call`, where the window of a repeat is known.
    pub(super) fn waiting(service: S, call: Req, ready_timeout: ReadyTimeout) -> Self {
        let state = State::Waiting(Box::new(Waiting {
            service,
            call: Some(call),
            ready_timeout,
            begin_by: BeginBy::current(),
            timer: None,
            held: None,
        }));
        Self { state }
    }
}

impl<S, Req> Future for ResponseFuture<S, Req>
where
    S: Service<Req> + Clone,
    S::Error: Into<BoxError> + 'static,
{
    type Output = Result<S::Response, Failure>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProj::Calling(answer) => return answer.poll(cx).map_err(passed_on),
                StateProj::Waiting(waiting) => {
                    let answer = ready!(waiting.poll(cx))?;
                    state.set(State::Calling(answer));
                }
            }
        }
    }
}

impl<S, Req> Waiting<S, Req>
where
    S: Service<Req> + Clone,
    S::Error: Into<BoxError>,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<S::Future, Failure>> {
        if let Some(held) = &mut self.held {
            ready!(held.as_mut().poll(cx));
            self.held = None;
        }
        while let Poll::Ready(readied) = self.service.poll_ready(cx) {
            readied.map_err(|error| Failure::from_any(error).spent())?;
            let begin_by = self.begin_by.as_ref();
            // A timer may be late, for example after the machine slept.
            if let Some(missed) = begin_by.filter(|begin_by| begin_by.is_over()) {
                return Poll::Ready(Err(missed.miss()));
            }
            if let Some(wait) = begin_by.map_or(Ok(None), BeginBy::held)? {
                // The service that was made ready may hold a permit that other calls need.
                self.service = self.service.clone();
                // The service was ready, so the ready timeout starts again for the next wait.
                self.timer = None;
                let held = self.held.insert(Box::pin(tokio::time::sleep(wait)));
                ready!(held.as_mut().poll(cx));
                self.held = None;
                continue;
            }
            let call = self.call.take().expect("a call is made once");
            let service = &mut self.service;
            return Poll::Ready(Ok(window::within(begin_by, || service.call(call))));
        }
        if self.timer.is_none() {
            // A limit that cannot be expressed is ignored.
            let ready_timeout = self.ready_timeout.get();
            let until =
                ready_timeout.and_then(|ready_timeout| Instant::now().checked_add(ready_timeout));
            let last_begin = self.begin_by.as_ref().and_then(BeginBy::at);
            let until = until.into_iter().chain(last_begin).min();
            self.timer = until.map(|until| Box::pin(tokio::time::sleep_until(until)));
        }
        if let Some(timer) = &mut self.timer {
            ready!(timer.as_mut().poll(cx));
            let missed = self.begin_by.as_ref();
            if let Some(missed) =
                missed.filter(|begin_by| begin_by.at().is_some_and(|at| at <= timer.deadline()))
            {
                return Poll::Ready(Err(missed.miss()));
            }
            let ready_timeout = self.ready_timeout.get().unwrap_or_default();
            let reached = LimitReached::new(Limit::Readiness, ready_timeout);
            let failure = Failure::timeout("the tool service was not ready in time");
            let failure = failure.because(reached).not_sent().spent();
            return Poll::Ready(Err(failure));
        }
        Poll::Pending
    }
}

/// A tool may use this layer around its own client. Claims about that client's call do not hold for
/// the tool's call.
fn passed_on(error: impl Into<BoxError> + 'static) -> Failure {
    Failure::from_owned(error).spent()
}

impl<S, Req> fmt::Debug for ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
