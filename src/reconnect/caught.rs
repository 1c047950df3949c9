//! Catches panics of the user's code.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::Poll,
};

/// A future panicked.
#[derive(Debug)]
pub(super) struct Panicked;

/// Runs a future to its end, or to its panic.
pub(super) async fn caught<T>(future: impl Future<Output = T> + Send) -> Result<T, Panicked> {
    let mut future = Unwound(Some(Box::pin(future)));
    poll_fn(move |cx| {
        let Some(running) = &mut future.0 else {
            return Poll::Ready(Err(Panicked));
        };
        match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(_) => Poll::Ready(Err(Panicked)),
        }
    })
    .await
}

/// A future whose drop does not panic.
struct Unwound<F>(Option<Pin<Box<F>>>);

impl<F> Drop for Unwound<F> {
    fn drop(&mut self) {
        let future = self.0.take();
        // The panic hook has reported the payload.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
    }
}

/// Runs a function. If it panics, returns `otherwise`.
pub(super) fn caught_or<T>(otherwise: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(otherwise)
}
