use super::latch::Latch;
use crate::failure::{BoxError, Failure};
use pin_project::pin_project;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Response future of [`FatalStop`](super::FatalStop).
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
        latch: Arc<Latch>,
    },
    Shut(Option<Failure>),
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(answer: F, latch: Arc<Latch>) -> Self {
        let state = State::Calling { answer, latch };
        Self { state }
    }

    pub(super) fn shut(cause: Failure) -> Self {
        let state = State::Shut(Some(cause));
        Self { state }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<R, E>>,
    E: Into<BoxError>,
{
    type Output = Result<R, Failure>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match self.project().state.project() {
            StateProj::Calling { answer, latch } => ready!(answer.poll(cx)).map_err(|error| {
                let mut failure = Failure::from_any(error);
                latch.watch(&mut failure);
                failure
            }),
            StateProj::Shut(cause) => Err(cause.take().expect("polled again after the answer")),
        })
    }
}

debug_name!(ResponseFuture<F>);
