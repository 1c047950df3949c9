use super::call::{Answer, Call};
use std::{fmt::Debug, hint::black_box, time::Duration};
use tokio::{
    runtime::{Builder, Runtime},
    time::Instant,
};
use tower::{Service, ServiceExt};

/// So many requests are made beforehand: few enough to stay in the cache.
const BATCH: u64 = 256;

/// A service that is measured.
pub(crate) struct Row {
    name: &'static str,
    time: Box<dyn FnMut(u64) -> Duration>,
}

impl Row {
    pub(crate) fn new<S>(name: &'static str, mut service: S) -> Self
    where
        S: Service<Call, Response = Answer> + 'static,
        S::Error: Debug,
    {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime to measure on");
        let time = move |calls| batch(&runtime, &mut service, calls);
        Self {
            name,
            time: Box::new(time),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// How long so many calls take, one after the other.
    pub(crate) fn time(&mut self, mut calls: u64) -> Duration {
        let mut measured = Duration::ZERO;
        while calls > 0 {
            let batch = calls.min(BATCH);
            measured += (self.time)(batch);
            calls -= batch;
        }
        measured
    }
}

fn batch<S>(runtime: &Runtime, service: &mut S, calls: u64) -> Duration
where
    S: Service<Call, Response = Answer>,
    S::Error: Debug,
{
    let calls: Vec<_> = (0..calls).map(|_| Call::new()).collect();
    let mut answers = Vec::with_capacity(calls.len());
    runtime.block_on(async {
        let begun = Instant::now();
        for call in calls {
            let ready = service.ready().await.expect("ready");
            answers.push(black_box(ready.call(call).await).expect("a success"));
        }
        begun.elapsed()
    })
}
