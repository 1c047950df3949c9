use super::{
    entry::{Ending, Entry},
    span,
};
use crate::{
    call::ToolResult,
    failure::{BoxError, Failure},
    ledger::{Kept, Ledger},
};
use pin_project::{pin_project, pinned_drop};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    task::{Context, Poll, ready},
};
use tracing::Span;

/// Response future of [`CallLog`](super::CallLog).
#[pin_project(PinnedDrop)]
pub struct ResponseFuture<F> {
    #[pin]
    answer: Answer<F>,
    // Taken when the line is written; none where the log is off. Boxed: it is large, and a future
    // is moved about until it is polled.
    open: Option<Box<(Entry, Span)>>,
}

#[pin_project(project = AnswerProj)]
enum Answer<F> {
    Silent(#[pin] F),
    Logged(#[pin] Kept<F>),
}

impl<F> ResponseFuture<F> {
    pub(super) fn silent(answer: F) -> Self {
        Self {
            answer: Answer::Silent(answer),
            open: None,
        }
    }

    pub(super) fn logged(answer: Kept<F>, entry: Entry, span: Span) -> Self {
        Self {
            answer: Answer::Logged(answer),
            open: Some(Box::new((entry, span))),
        }
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
        let mut answer = match this.answer.as_mut().project() {
            AnswerProj::Silent(answer) => return answer.poll(cx).map_err(Failure::from_any),
            AnswerProj::Logged(answer) => answer,
        };
        let polled = {
            let _entered = this.open.as_ref().map(|open| open.1.enter());
            // The panic goes on its way; only its line is written first.
            catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx)))
        };
        let outcome = match polled {
            Ok(poll) => ready!(poll).map_err(Failure::from_any),
            Err(panic) => {
                close(this.open, Ledger::take(answer), Ending::Panicked);
                resume_unwind(panic);
            }
        };
        if let Some(open) = this.open.as_ref() {
            span::close(&open.1, outcome.as_ref());
        }
        let ending = match &outcome {
            Ok(result) => Ending::of_result(result),
            Err(failure) => Ending::Failed(failure),
        };
        close(this.open, Ledger::take(answer), ending);
        Poll::Ready(outcome)
    }
}

#[pinned_drop]
impl<F> PinnedDrop for ResponseFuture<F> {
    fn drop(self: Pin<&mut Self>) {
        let this = self.project();
        if let AnswerProj::Logged(answer) = this.answer.project() {
            close(this.open, Ledger::take(answer), Ending::Dropped);
        }
    }
}

fn close(open: &mut Option<Box<(Entry, Span)>>, ledger: Option<Ledger>, ending: Ending<'_>) {
    if let Some(open) = open.take() {
        let (entry, span) = *open;
        span.in_scope(|| entry.close(ledger, ending));
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
