use crate::{classify::catch_panic, failure::Failure};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// The outermost catch of panics: rmcp never answers a request whose task has panicked.
///
/// `Classify` catches panics of tools. This is for code outside of it: closures and layers of the
/// user, and values that panic when they are dropped.
pub(crate) struct CatchPanics<F> {
    // `None` once it is over.
    future: Option<Pin<Box<F>>>,
}

impl<F> CatchPanics<F> {
    pub(crate) fn new(future: F) -> Self {
        Self {
            future: Some(Box::pin(future)),
        }
    }

    fn let_go(&mut self) {
        if let Err(panic) = catch_panic(|| self.future = None) {
            tracing::error!(error = %panic.chain(), "a call panicked while it was dropped");
        }
    }
}

impl<F: Future> Future for CatchPanics<F> {
    type Output = Result<F::Output, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.future.as_mut().expect("polled again after the answer");
        let outcome = match catch_panic(|| future.as_mut().poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => Ok(outcome),
            Err(panic) => Err(panic),
        };
        self.let_go();
        Poll::Ready(outcome)
    }
}

impl<F> Drop for CatchPanics<F> {
    fn drop(&mut self) {
        self.let_go();
    }
}
