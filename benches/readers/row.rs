use super::answer::Answer;
use std::{
    hint::black_box,
    pin::pin,
    task::{Context, Waker},
    time::Duration,
};
use tokio::time::Instant;
use tower::Service;

/// One kind of result through one service.
pub(crate) struct Row {
    name: String,
    batch: u64,
    time: Box<dyn FnMut(u64) -> Duration>,
}

impl Row {
    /// So many results are made beforehand, and dropped afterwards.
    pub(crate) fn new<S>(name: String, mut service: S, answer: Answer, batch: u64) -> Self
    where
        S: Service<Answer, Response = Answer> + 'static,
    {
        let time = move |calls| measure(&mut service, &answer, calls);
        Self {
            name,
            batch,
            time: Box::new(time),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How long one call takes in nanoseconds, on the average of one batch.
    pub(crate) fn nanos(&mut self) -> f64 {
        let batch = self.batch;
        #[expect(clippy::cast_precision_loss, reason = "batches are small")]
        let calls = batch as f64;
        (self.time)(batch).as_secs_f64() * 1e9 / calls
    }

    /// How long so many calls take, one after the other.
    pub(crate) fn time(&mut self, mut calls: u64) -> Duration {
        let mut measured = Duration::ZERO;
        while calls > 0 {
            let batch = calls.min(self.batch);
            measured += (self.time)(batch);
            calls -= batch;
        }
        measured
    }
}

fn measure<S>(service: &mut S, answer: &Answer, calls: u64) -> Duration
where
    S: Service<Answer, Response = Answer>,
{
    let answers: Vec<_> = (0..calls).map(|_| answer.clone()).collect();
    let mut outcomes = Vec::with_capacity(answers.len());
    let mut cx = Context::from_waker(Waker::noop());
    let begun = Instant::now();
    for answer in answers {
        let _ = service.poll_ready(&mut cx);
        let outcome = pin!(service.call(answer)).poll(&mut cx);
        outcomes.push(black_box(outcome));
    }
    begun.elapsed()
}
