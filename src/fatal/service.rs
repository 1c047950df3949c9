use super::{FatalLayer, ResponseFuture, latch::Latch};
use crate::failure::{BoxError, Failure, Fatal};
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tower::{Layer, Service};

/// Shuts at the first fatal failure.
///
/// See the [module page](super).
pub struct FatalStop<S> {
    inner: S,
    latch: Arc<Latch>,
    // Whether calls are answered after the end, and not refused by `poll_ready`.
    answers: bool,
    // Wakes the tasks that wait for readiness, at the end.
    end: Option<Pin<Box<dyn Future<Output = Fatal> + Send + Sync>>>,
}

impl<S> FatalStop<S> {
    pub(super) fn with_latch(inner: S, latch: Arc<Latch>, answers: bool) -> Self {
        Self {
            inner,
            latch,
            answers,
            end: None,
        }
    }

    #[cold]
    fn refuse(&self, cause: Failure) -> Poll<Result<(), Failure>> {
        Poll::Ready(if self.answers { Ok(()) } else { Err(cause) })
    }
}

impl<S> FatalStop<S> {
    /// Shuts a service at its first fatal failure.
    #[must_use]
    pub fn new(inner: S) -> Self {
        FatalLayer::new().layer(inner)
    }

    inner_accessors!(inner);
}

impl FatalStop<()> {
    /// The layer, with the defaults.
    #[must_use]
    pub fn layer() -> FatalLayer {
        FatalLayer::new()
    }
}

impl<S, Req> Service<Req> for FatalStop<S>
where
    S: Service<Req>,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = Failure;
    type Future = ResponseFuture<S::Future>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if let Some(cause) = self.latch.refusal() {
            return self.refuse(cause);
        }
        match self.inner.poll_ready(cx) {
            Poll::Ready(readied) => {
                self.end = None;
                Poll::Ready(readied.map_err(|error| {
                    let mut failure = Failure::from_any(error);
                    self.latch.watch(&mut failure);
                    failure
                }))
            }
            Poll::Pending => {
                let end = self.end.get_or_insert_with(|| {
                    let latch = Arc::clone(&self.latch);
                    Box::pin(async move { latch.wait().await })
                });
                ready!(end.as_mut().poll(cx));
                match self.latch.refusal() {
                    Some(refusal) => self.refuse(refusal),
                    None => Poll::Pending,
                }
            }
        }
    }

    #[inline]
    fn call(&mut self, call: Req) -> Self::Future {
        if let Some(cause) = self.latch.refusal() {
            // Shut between `poll_ready` and `call`, or always ready.
            return ResponseFuture::shut(cause);
        }
        let latch = Arc::clone(&self.latch);
        ResponseFuture::new(self.inner.call(call), latch)
    }
}

impl<S: Clone> Clone for FatalStop<S> {
    fn clone(&self) -> Self {
        Self::with_latch(self.inner.clone(), Arc::clone(&self.latch), self.answers)
    }
}

impl<S: fmt::Debug> fmt::Debug for FatalStop<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FatalStop")
            .field("inner", &self.inner)
            .field("latch", &self.latch)
            .finish_non_exhaustive()
    }
}
