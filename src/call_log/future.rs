use super::{
    entry::{Ending, Entry},
    span,
};
use crate::{
    call::ToolResult,
    failure::{BoxError, Failure},
    ledger::{self, Ledger},
    text,
};
use pin_project::{pin_project, pinned_drop};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    thread,
};
use tracing::Span;

/// Response future of [`CallLog`](super::CallLog).
#[pin_project(PinnedDrop)]
pub struct ResponseFuture<F> {
    // Gone while the future is dropped.
    #[pin]
    answer: Option<F>,
    // Taken when the line is written; none where the log is off. Boxed: it is large, and a future
    // is moved about until it is polled.
    open: Option<Box<Open>>,
}

struct Open {
    entry: Entry,
    span: Span,
    // Out only while the answer is polled.
    ledger: Option<Box<Ledger>>,
}

impl<F> ResponseFuture<F> {
    pub(super) fn silent(answer: F) -> Self {
        Self {
            answer: Some(answer),
            open: None,
        }
    }

    pub(super) fn logged(answer: F, entry: Entry, span: Span, ledger: Ledger) -> Self {
        let open = Open {
            entry,
            span,
            ledger: Some(Box::new(ledger)),
        };
        Self {
            answer: Some(answer),
            open: Some(Box::new(open)),
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
        let this = self.project();
        let Some(answer) = this.answer.as_pin_mut() else {
            return Poll::Pending;
        };
        let Some(open) = this.open.as_mut() else {
            return answer.poll(cx).map_err(Failure::from_any);
        };
        // The panic goes on its way; only its line is written first.
        match open.poll(|| answer.poll(cx).map_err(Failure::from_any)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(outcome)) => {
                span::close(&open.span, outcome.as_ref());
                close(
                    this.open,
                    match &outcome {
                        Ok(result) => Ending::of_result(result),
                        Err(failure) => Ending::Failed(failure),
                    },
                );
                Poll::Ready(outcome)
            }
            Err(panic) => {
                close(this.open, Ending::Panicked);
                resume_unwind(panic)
            }
        }
    }
}

impl Open {
    fn poll<T>(&mut self, poll: impl FnOnce() -> T) -> thread::Result<T> {
        let _entered = self.span.enter();
        let redaction = self.entry.redaction();
        let poll = || text::within(redaction, || catch_unwind(AssertUnwindSafe(poll)));
        let Some(ledger) = self.ledger.take() else {
            return poll();
        };
        let (polled, ledger) = ledger.keep(poll);
        self.ledger = ledger;
        polled
    }
}

#[pinned_drop]
impl<F> PinnedDrop for ResponseFuture<F> {
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        let open = this.open;
        let Some(still_open) = open else {
            return;
        };
        let redaction = still_open.entry.redaction().map(Arc::clone);
        match ledger::dropped_for() {
            Some(failure) => {
                span::fail(&still_open.span, &failure);
                close(open, Ending::Failed(&failure));
            }
            None => close(open, Ending::Dropped),
        }
        // What the layers report of its end is of this call too.
        text::within(redaction.as_ref(), || this.answer.set(None));
    }
}

fn close(open: &mut Option<Box<Open>>, ending: Ending<'_>) {
    if let Some(open) = open.take() {
        let Open {
            entry,
            span,
            ledger,
        } = *open;
        span.in_scope(|| entry.close(ledger.map(|ledger| *ledger), ending));
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
