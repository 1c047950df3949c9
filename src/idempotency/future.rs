use super::{handle::Adopter, phase::Phase};
use crate::{
    call::ToolResult,
    failure::{BoxError, Failure},
    is_error::{self, Target},
};
use pin_project::{pin_project, pinned_drop};
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    thread,
};

/// Response future of [`Idempotency`](super::Idempotency).
///
/// If it is dropped while its call runs, the run goes on to its end: see the
/// [module page](super#cancellation).
#[pin_project(PinnedDrop)]
pub struct ResponseFuture<F, R: 'static> {
    #[pin]
    state: State<F, R>,
}

#[pin_project(project = StateProj)]
enum State<F, R: 'static> {
    /// Without a key.
    Passing(#[pin] F),
    /// With a key. Boxed, since it is large, and a future is moved until it is polled.
    Running(Option<Box<Running<R>>>),
    /// Refused before the store was asked. The failure is flagged in `poll`, where the log sees it.
    Refused(Option<Box<(Failure, Target)>>),
}

struct Running<R: 'static> {
    // `None` while it is polled: never poll again after a panic.
    driver: Option<Driver<R>>,
    phase: Phase,
    adopter: Adopter,
}

type Driver<R> = Pin<Box<dyn Future<Output = Result<R, Failure>> + Send>>;

impl<F, R: 'static> ResponseFuture<F, R> {
    #[inline]
    pub(super) fn passing(answer: F) -> Self {
        let state = State::Passing(answer);
        Self { state }
    }

    pub(super) fn refused(failure: Failure, target: Target) -> Self {
        let state = State::Refused(Some(Box::new((failure, target))));
        Self { state }
    }

    pub(super) fn running(
        driver: impl Future<Output = Result<R, Failure>> + Send + 'static,
        phase: Phase,
        adopter: Adopter,
    ) -> Self {
        let state = State::Running(Some(Box::new(Running {
            driver: Some(Box::pin(driver)),
            phase,
            adopter,
        })));
        Self { state }
    }
}

impl<F, R, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<R, E>>,
    R: ToolResult,
    E: Into<BoxError>,
{
    type Output = Result<R, Failure>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Passing(answer) => answer.poll(cx).map_err(Failure::from_any),
            StateProj::Running(running) => running
                .as_mut()
                .map_or(Poll::Pending, |running| running.poll(cx)),
            StateProj::Refused(refusal) => match refusal.take() {
                Some(refusal) => Poll::Ready(is_error::flag(refusal.0, &refusal.1)),
                None => Poll::Pending,
            },
        }
    }
}

impl<R: 'static> Running<R> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<R, Failure>> {
        let Some(mut driver) = self.driver.take() else {
            return Poll::Pending;
        };
        let polled = driver.as_mut().poll(cx);
        if polled.is_pending() {
            self.driver = Some(driver);
        }
        polled
    }
}

#[pinned_drop]
impl<F, R: 'static> PinnedDrop for ResponseFuture<F, R> {
    fn drop(self: Pin<&mut Self>) {
        let StateProj::Running(running) = self.project().state.project() else {
            return;
        };
        let Some(Running {
            driver: Some(driver),
            phase,
            adopter,
        }) = running.take().map(|running| *running)
        else {
            return;
        };
        if phase.has_claimed() && !thread::panicking() {
            let driver = Box::pin(async move {
                // The result has no reader.
                let _ = driver.await;
            });
            adopter.adopt(driver, phase);
        }
    }
}

impl<F, R: 'static> fmt::Debug for ResponseFuture<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
