use super::{catch_panic::catch_silenced, error, result, rules::Rules};
use crate::{
    call::ToolResult,
    failure::{BoxError, Failure},
    ledger,
};
use pin_project::{pin_project, pinned_drop};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// Response future of [`Classify`](super::Classify).
#[pin_project(PinnedDrop)]
pub struct ResponseFuture<F> {
    #[pin]
    state: State<F>,
    is_inside: bool,
}

#[pin_project(project = StateProj)]
enum State<F> {
    Calling {
        #[pin]
        answer: F,
        rules: Rules,
    },
    // The call panicked before it returned a future, or it is over.
    Failed(Option<Failure>),
}

impl<F> ResponseFuture<F> {
    #[inline]
    pub(super) fn new(answer: F, rules: Rules) -> Self {
        let is_inside = rules.is_inside();
        let state = State::Calling { answer, rules };
        Self { state, is_inside }
    }

    pub(super) fn failed(failure: Failure, is_inside: bool) -> Self {
        let state = State::Failed(Some(failure));
        Self { state, is_inside }
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
        let this = self.project();
        let mut state = this.state;
        let polled = match state.as_mut().project() {
            StateProj::Calling { answer, rules } => {
                // The user's rules may panic too.
                let named = |outcome| match outcome {
                    Ok(result) => result::classify(result, rules),
                    Err(error) => {
                        let failure = error::classify(E::into(error), rules);
                        Err(result::read_again::<R>(failure, rules))
                    }
                };
                catch_silenced(|| {
                    let _closed = ledger::close();
                    answer.poll(cx).map(named)
                })
            }
            StateProj::Failed(failure) => {
                Err(failure.take().expect("polled again after the answer"))
            }
        };
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(Ok(result))) => Poll::Ready(Ok(result)),
            Ok(Poll::Ready(Err(failure))) | Err(failure) => {
                let_go(state);
                Poll::Ready(Err(failure.leaving(*this.is_inside)))
            }
        }
    }
}

/// Never poll again after a panic. Dropping an unfinished future may panic too; the failure must
/// survive that.
#[inline]
fn let_go<F>(mut state: Pin<&mut State<F>>) {
    if let Err(panic) = catch_silenced(|| state.set(State::Failed(None))) {
        report(&panic);
    }
}

#[cold]
fn report(panic: &Failure) {
    tracing::error!(error = %panic.chain(), "a tool panicked while it was dropped");
}

/// A caller that drops the call must not see a panic of the tool.
#[pinned_drop]
impl<F> PinnedDrop for ResponseFuture<F> {
    #[inline]
    fn drop(self: Pin<&mut Self>) {
        let_go(self.project().state);
    }
}

debug_name!(ResponseFuture<F>);
