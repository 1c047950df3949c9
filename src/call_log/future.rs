use super::entry::{Ending, Entry};
use crate::{
    call::ToolResult,
    failure::{BoxError, Failure},
    ledger, text,
};
use pin_project::{pin_project, pinned_drop};
use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    thread,
};

/// Response future of [`CallLog`](super::CallLog).
#[pin_project(PinnedDrop)]
pub struct ResponseFuture<F> {
    // `None` while the future is dropped.
    #[pin]
    answer: Option<F>,
    // Taken when the line is written; `None` if the log is off. Boxed, since it is large, and a
    // future is moved until it is polled.
    entry: Option<Box<Entry>>,
}

impl<F> ResponseFuture<F> {
    pub(super) fn silent(answer: F) -> Self {
        Self {
            answer: Some(answer),
            entry: None,
        }
    }

    pub(super) fn logged(answer: F, entry: Entry) -> Self {
        Self {
            answer: Some(answer),
            entry: Some(Box::new(entry)),
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
        let Some(entry) = this.entry.as_ref() else {
            return answer.poll(cx).map_err(Failure::from_any);
        };
        // The panic goes on; only the line is written first.
        match poll_within(entry, || answer.poll(cx).map_err(Failure::from_any)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(outcome)) => {
                let ending = match &outcome {
                    Ok(result) => {
                        entry.show(result);
                        Ending::of_result(result)
                    }
                    Err(failure) => Ending::Failed(failure),
                };
                close(this.entry, ending);
                Poll::Ready(outcome)
            }
            Err(panic) => {
                close(this.entry, Ending::Panicked);
                resume_unwind(panic)
            }
        }
    }
}

fn poll_within<T>(entry: &Entry, poll: impl FnOnce() -> T) -> thread::Result<T> {
    let poll = || text::within(entry.redaction(), || catch_unwind(AssertUnwindSafe(poll)));
    entry.in_span(|| match entry.ledger() {
        Some(ledger) => ledger.keep(poll),
        None => poll(),
    })
}

#[pinned_drop]
impl<F> PinnedDrop for ResponseFuture<F> {
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        let Some(open) = this.entry.as_ref() else {
            return;
        };
        let redaction = open.redaction().map(Arc::clone);
        match ledger::dropped_for() {
            Some(failure) => close(this.entry, Ending::Failed(&failure)),
            None => close(this.entry, Ending::Dropped),
        }
        // Reports of the layers about its end belong to this call too.
        text::within(redaction.as_ref(), || this.answer.set(None));
    }
}

fn close(entry: &mut Option<Box<Entry>>, ending: Ending<'_>) {
    if let Some(entry) = entry.take() {
        entry.close(ending);
    }
}

debug_name!(ResponseFuture<F>);
