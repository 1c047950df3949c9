use super::{Answer, Call};
use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;
use tower::{BoxError, Service};

/// A tool that takes one scripted step for each call, and records when it was called.
///
/// After the last step it panics: a call too many is a failed test.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    begun: Instant,
    steps: VecDeque<(Duration, Result<Answer, BoxError>)>,
    calls: Vec<Duration>,
}

impl Script {
    /// Answers at once, in this order.
    pub(crate) fn new(steps: impl IntoIterator<Item = Result<Answer, BoxError>>) -> Self {
        Self::timed(steps.into_iter().map(|step| (Duration::ZERO, step)))
    }

    /// Answers after these times, in this order.
    pub(crate) fn timed(
        steps: impl IntoIterator<Item = (Duration, Result<Answer, BoxError>)>,
    ) -> Self {
        let state = State {
            begun: Instant::now(),
            steps: steps.into_iter().collect(),
            calls: Vec::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// When it was called, counted from its making.
    pub(crate) fn calls(&self) -> Vec<Duration> {
        self.state.lock().unwrap().calls.clone()
    }
}

impl Service<Call> for Script {
    type Response = Answer;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Call) -> Self::Future {
        let mut state = self.state.lock().unwrap();
        let at = state.begun.elapsed();
        state.calls.push(at);
        let (after, answer) = state.steps.pop_front().expect("a call too many");
        Box::pin(async move {
            if !after.is_zero() {
                tokio::time::sleep(after).await;
            }
            answer
        })
    }
}
