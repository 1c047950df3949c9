use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// Completes when a server has to stop serving. A graceful shutdown waits for it.
pub struct Shutdown(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Shutdown {
    pub(super) fn new(shutdown: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Box::pin(shutdown))
    }
}

impl Future for Shutdown {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

debug_name!(Shutdown);
