use super::{catch_panic, error, hush::hushed, result, rules::Rules};
use crate::{
    call::ToolResult,
    failure::{BoxError, Failure},
    ledger,
};
use pin_project::pin_project;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

/// Response future of [`Classify`](super::Classify).
#[pin_project]
pub struct ResponseFuture<F> {
    #[pin]
    state: State<F>,
}

#[pin_project(project = StateProj)]
enum State<F> {
    Calling {
        #[pin]
        answer: F,
        rules: Rules,
    },
    // The call panicked before it gave a future.
    Failed(Option<Failure>),
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(answer: F, rules: Rules) -> Self {
        let state = State::Calling { answer, rules };
        Self { state }
    }

    pub(super) fn failed(failure: Failure) -> Self {
        let state = State::Failed(Some(failure));
        Self { state }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<R, E>>,
    R: ToolResult,
    E: Into<BoxError>,
{
    type Output = Result<R, Failure>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        Poll::Ready(match this.state.as_mut().project() {
            StateProj::Calling { answer, rules } => {
                // The user's rules are somebody else's code too.
                let named = |outcome| match outcome {
                    Ok(result) => result::classify(result, rules),
                    Err(error) => Err(error::classify(E::into(error), rules)),
                };
                let poll = || hushed(|| ledger::closed(|| answer.poll(cx))).map(named);
                let outcome = match catch_panic(poll) {
                    Ok(Poll::Pending) => return Poll::Pending,
                    Ok(Poll::Ready(outcome)) => outcome,
                    Err(failure) => Err(failure),
                };
                // What has answered, or panicked, is not polled again; and if letting it go
                // panics, that does not take the answer with it.
                let let_go = || hushed(|| this.state.set(State::Failed(None)));
                if let Err(panic) = catch_panic(let_go) {
                    tracing::error!(error = %panic.chain(), "a tool panicked after its answer");
                }
                outcome
            }
            StateProj::Failed(failure) => {
                Err(failure.take().expect("polled again after the answer"))
            }
        })
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
