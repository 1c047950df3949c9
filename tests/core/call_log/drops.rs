//! Calls that are dropped, at each point where their future is pending.

use super::{MS, retry};
use crate::support::{Answer, Call, Lines};
use mcp_resilience::{
    Failure, ResilienceLayer, call_log::CallLogLayer, fatal::FatalLayer, is_error::IsErrorLayer,
    reconnect::ReconnectLayer, timeout::TimeoutLayer,
};
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{task::yield_now, time::advance};
use tower::{BoxError, Layer, Service, ServiceBuilder, service_fn, util::BoxCloneSyncService};

/// Is pending twice before each readiness but the first, and twice before each answer. Refuses the first
/// two attempts.
#[derive(Debug, Default)]
struct Halting {
    calls: Arc<AtomicU32>,
    readied: u32,
}

impl Clone for Halting {
    fn clone(&self) -> Self {
        Self {
            calls: Arc::clone(&self.calls),
            readied: 0,
        }
    }
}

impl Service<Call> for Halting {
    type Response = Answer;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.readied += 1;
        if self.calls.load(Relaxed) > 0 && self.readied < 3 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Call) -> Self::Future {
        self.readied = 0;
        let number = self.calls.fetch_add(1, Relaxed);
        Box::pin(async move {
            yield_now().await;
            yield_now().await;
            if number < 2 {
                return Err(Failure::at_capacity(None).before_running().into());
            }
            Ok(Answer::ok("fine"))
        })
    }
}

type Tools = BoxCloneSyncService<Call, Answer, BoxError>;

fn boxed<S>(tools: S) -> Tools
where
    S: Service<Call, Response = Answer, Error: Into<BoxError>, Future: Send>,
    S: Clone + Send + Sync + 'static,
{
    BoxCloneSyncService::new(tower::ServiceExt::map_err(tools, Into::into))
}

fn preset(lines: &Lines) -> ResilienceLayer {
    ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .retry(retry())
        .build()
        .unwrap()
}

type Stack = fn(Halting, &Lines) -> Tools;

const STACKS: [(&str, Stack); 7] = [
    ("log", |tool, lines| {
        boxed(CallLogLayer::new(lines.clone()).layer(tool))
    }),
    ("retry", |tool, lines| {
        let log = CallLogLayer::new(lines.clone());
        boxed(
            ServiceBuilder::new()
                .layer(log)
                .layer(retry())
                .service(tool),
        )
    }),
    ("is_error, fatal, retry, timeout", |tool, lines| {
        boxed(
            ServiceBuilder::new()
                .layer(CallLogLayer::new(lines.clone()))
                .layer(IsErrorLayer::new())
                .layer(FatalLayer::new())
                .layer(retry())
                .layer(TimeoutLayer::new(Duration::from_secs(60)).unwrap())
                .service(tool),
        )
    }),
    ("buffer", |tool, lines| {
        boxed(
            ServiceBuilder::new()
                .layer(CallLogLayer::new(lines.clone()))
                .layer(retry())
                .buffer(4)
                .service(tool),
        )
    }),
    ("a layer that spawns", |tool, lines| {
        boxed(
            ServiceBuilder::new()
                .layer(CallLogLayer::new(lines.clone()))
                .map_future(|answer| async { tokio::spawn(answer).await? })
                .map_err(BoxError::from)
                .layer(retry())
                .service(tool),
        )
    }),
    ("preset", |tool, lines| boxed(preset(lines).layer(tool))),
    ("preset, connected", |tool, lines| {
        let connector = service_fn(move |()| {
            let tool = tool.clone();
            async move {
                yield_now().await;
                Ok::<_, BoxError>(tool)
            }
        });
        let reconnect = ReconnectLayer::new(());
        boxed(preset(lines).connect(&reconnect, connector).0)
    }),
];

/// Polls a call so often at most, 10 ms after each other.
async fn polled<F: Future>(mut call: Pin<&mut F>, times: u32) -> Option<F::Output> {
    for _ in 0..times {
        let polled = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await;
        if let Poll::Ready(output) = polled {
            return Some(output);
        }
        advance(10 * MS(1)).await;
        yield_now().await;
    }
    None
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_after_any_number_of_polls_leaves_one_line() {
    for (name, stack) in STACKS {
        for times in 0.. {
            let (lines, tool) = (Lines::default(), Halting::default());
            let attempts = Arc::clone(&tool.calls);
            let mut tools = stack(tool, &lines);
            poll_fn(|cx| tools.poll_ready(cx)).await.unwrap();
            let answer = {
                let call = pin!(tools.call(Call::tool("t")));
                polled(call, times).await
            };
            let line = lines.only();
            // The first is counted before it begins, and so is one that waits for its connection.
            let begun = u64::from(attempts.load(Relaxed));
            let counted = line["attempts"].as_u64().unwrap();
            assert!(
                (begun..=begun + 1).contains(&counted),
                "{name}, {times}: {line}"
            );
            if answer.is_some() {
                assert_ne!(line["outcome"], "cancelled", "{name}, {times}: {line}");
                assert_eq!(counted, begun);
                assert!(times > if begun == 1 { 2 } else { 25 }, "{name}, {times}");
                break;
            }
            assert_eq!(line["outcome"], "cancelled", "{name}, {times}: {line}");
        }
    }
}
