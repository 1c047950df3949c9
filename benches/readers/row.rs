use super::answer::Answer;
use std::{
    hint::black_box,
    pin::pin,
    task::{Context, Waker},
    time::Duration,
};
use tokio::time::Instant;
use tower::Service;

/// More than the caches of one core hold.
const CACHES: usize = 8 * 1024 * 1024;

/// One kind of result through one service.
pub(crate) struct Row {
    name: String,
    batch: u64,
    time: Box<dyn FnMut(u64) -> Duration>,
}

impl Row {
    /// Many results are made beforehand, small as they are, and dropped afterwards.
    pub(crate) fn new<S>(name: String, service: S, answer: Answer) -> Self
    where
        S: Service<Answer, Response = Answer> + 'static,
    {
        Self::made(name, service, answer, 256, Vec::new())
    }

    /// One result at a time, which is not in the near caches any more when it is read: a short one
    /// would be, and a long one could not, and the difference is nothing that a reader does.
    pub(crate) fn from_afar<S>(name: String, service: S, answer: Answer) -> Self
    where
        S: Service<Answer, Response = Answer> + 'static,
    {
        Self::made(name, service, answer, 1, vec![1; CACHES])
    }

    fn made<S>(name: String, mut service: S, answer: Answer, batch: u64, other: Vec<u8>) -> Self
    where
        S: Service<Answer, Response = Answer> + 'static,
    {
        let time = move |calls| measure(&mut service, &answer, calls, &other);
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

    /// How long this many calls take, one after the other.
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

fn measure<S>(service: &mut S, answer: &Answer, calls: u64, other: &[u8]) -> Duration
where
    S: Service<Answer, Response = Answer>,
{
    let answers: Vec<_> = (0..calls).map(|_| answer.clone()).collect();
    let mut outcomes = Vec::with_capacity(answers.len());
    // Walked through after the results were made, so that it takes their place.
    let walked: u64 = other.iter().step_by(64).map(|byte| u64::from(*byte)).sum();
    black_box(walked);
    let mut cx = Context::from_waker(Waker::noop());
    let begun = Instant::now();
    for answer in answers {
        let _ = service.poll_ready(&mut cx);
        let outcome = pin!(service.call(answer)).poll(&mut cx);
        outcomes.push(black_box(outcome));
    }
    begun.elapsed()
}
