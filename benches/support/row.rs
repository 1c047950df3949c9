use super::{Answer, Call};
use std::{fmt::Debug, hint::black_box, time::Duration};
use tokio::{
    runtime::{Builder, Runtime},
    time::Instant,
};
use tower::{Service, ServiceExt};

/// How many requests are made beforehand. Few enough to stay in the cache.
const BATCH: u64 = 256;

/// The measured cases, by name.
pub(crate) struct Row {
    name: &'static str,
    time: Box<dyn FnMut(u64) -> Duration>,
}

impl Row {
    /// A row for a function that does something this many times, and returns the time.
    pub(crate) fn new(name: &'static str, time: impl FnMut(u64) -> Duration + 'static) -> Self {
        let time = Box::new(time);
        Self { name, time }
    }

    /// Calls a service, one call after the other.
    pub(crate) fn of_calls<S>(name: &'static str, service: S) -> Self
    where
        S: Service<Call, Response = Answer> + 'static,
        S::Error: Debug,
    {
        Self::of_requests(name, service, Call::new)
    }

    /// The same with other requests. Making them is not measured.
    pub(crate) fn of_requests<S>(name: &'static str, mut service: S, request: fn() -> Call) -> Self
    where
        S: Service<Call, Response = Answer> + 'static,
        S::Error: Debug,
    {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime to measure on");
        Self::new(name, move |mut calls| {
            let mut measured = Duration::ZERO;
            while calls > 0 {
                let batch = calls.min(BATCH);
                let requests = (0..batch).map(|_| request()).collect();
                measured += call(&runtime, &mut service, requests);
                calls -= batch;
            }
            measured
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn time(&mut self, times: u64) -> Duration {
        (self.time)(times)
    }
}

fn call<S>(runtime: &Runtime, service: &mut S, requests: Vec<Call>) -> Duration
where
    S: Service<Call, Response = Answer>,
    S::Error: Debug,
{
    let mut answers = Vec::with_capacity(requests.len());
    runtime.block_on(async {
        let begun = Instant::now();
        for request in requests {
            let ready = service.ready().await.expect("ready");
            answers.push(black_box(ready.call(request).await).expect("a result"));
        }
        begun.elapsed()
    })
}
