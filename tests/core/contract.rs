//! The contract of `tower::Service`, checked for every service.

use crate::support::{Answer, Call, Lines, Strict};
use mcp_resilience::{
    Class, Failure, ResilienceLayer, backoff::Jitter, call_log::CallLogLayer,
    classify::ClassifyLayer, fatal::FatalLayer, is_error::IsErrorLayer, reconnect::ReconnectLayer,
    retry::RetryLayer, timeout::TimeoutLayer,
};
use std::{
    collections::HashMap,
    convert::Infallible,
    fmt::Debug,
    future::{Ready, pending, ready},
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tower::{
    BoxError, Layer, Service, ServiceExt,
    buffer::Buffer,
    limit::ConcurrencyLimit,
    service_fn,
    util::{BoxCloneSyncService, BoxService},
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

type Boxed = BoxCloneSyncService<Call, Answer, BoxError>;

/// Wants what `tower` itself wants of a service that is passed around.
fn boxed<S>(service: S) -> Boxed
where
    S: Service<Call, Response = Answer, Error: Into<BoxError>, Future: Send>,
    S: Clone + Send + Sync + 'static,
{
    BoxCloneSyncService::new(service.map_err(Into::into))
}

fn retry() -> RetryLayer {
    RetryLayer::builder()
        .jitter(Jitter::none())
        .deadline(2 * HOUR)
        .build()
        .unwrap()
}

fn preset() -> ResilienceLayer {
    let preset = ResilienceLayer::builder().attempt_timeout(HOUR);
    preset
        .log(CallLogLayer::new(Lines::default()))
        .retry(retry())
        .build()
        .unwrap()
}

fn connector(
    inner: Boxed,
) -> impl Service<(), Response = Boxed, Error = Infallible, Future: Send> + Clone + Send + 'static {
    service_fn(move |()| ready(Ok(inner.clone())))
}

type Wrap = fn(Boxed) -> Boxed;

const LAYERS: [(&str, Wrap); 9] = [
    ("classify", |inner| boxed(ClassifyLayer::new().layer(inner))),
    ("is_error", |inner| boxed(IsErrorLayer::new().layer(inner))),
    ("fatal", |inner| boxed(FatalLayer::new().layer(inner))),
    ("call_log", |inner| {
        boxed(CallLogLayer::new(Lines::default()).layer(inner))
    }),
    ("retry", |inner| boxed(retry().layer(inner))),
    ("preset", |inner| boxed(preset().layer(inner))),
    ("reconnect", |inner| {
        boxed(ReconnectLayer::new(()).layer(connector(inner)))
    }),
    ("preset, connected", |inner| {
        boxed(
            preset()
                .connect(&ReconnectLayer::new(()), connector(inner))
                .0,
        )
    }),
    ("timeout", |inner| {
        boxed(TimeoutLayer::new(HOUR).unwrap().layer(inner))
    }),
];

/// The layers whose readiness is that of the service within.
fn passing() -> impl Iterator<Item = (&'static str, Wrap)> {
    LAYERS
        .into_iter()
        .filter(|(name, _)| !name.contains("connect"))
}

/// The layers that wait between attempts.
fn waiting() -> impl Iterator<Item = (&'static str, Wrap)> {
    let waits = ["retry", "preset", "preset, connected"];
    LAYERS
        .into_iter()
        .filter(move |(name, _)| waits.contains(name))
}

fn limited(tool: Tool) -> Boxed {
    boxed(ConcurrencyLimit::new(tool, 1))
}

type Floor = (&'static str, fn(Tool) -> Boxed);

const FLOORS: [Floor; 3] = [
    ("strict", |tool| boxed(Strict::new(tool))),
    ("limit", limited),
    ("buffer", |tool| boxed(Buffer::new(Strict::new(tool), 4))),
];

/// A tool that fails the first call of each name, hangs, or is slow, as the name says.
#[derive(Clone, Debug, Default)]
struct Tool {
    calls: Arc<Mutex<HashMap<String, u32>>>,
    running: Arc<AtomicUsize>,
}

/// One call in progress.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Tool {
    fn calls(&self, name: &str) -> u32 {
        self.calls.lock().unwrap().get(name).copied().unwrap_or(0)
    }

    fn running(&self) -> usize {
        self.running.load(Relaxed)
    }
}

impl Service<Call> for Tool {
    type Response = Answer;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let mut calls = self.calls.lock().unwrap();
        let count = calls.entry(call.name.clone()).or_default();
        *count += 1;
        let is_first = *count == 1;
        self.running.fetch_add(1, Relaxed);
        let running = Running(Arc::clone(&self.running));
        Box::pin(async move {
            let _running = running;
            match &*call.name {
                "hangs" => pending().await,
                "slow" => sleep(500 * MS).await,
                "fine" => {}
                _ if is_first => return Err(Failure::rate_limited(None).before_running().into()),
                _ => {}
            }
            Ok(Answer::ok("fine"))
        })
    }
}

/// Runs `check` on every one of these layers over every floor.
async fn on_each<F: Future<Output = ()>>(
    layers: impl IntoIterator<Item = (&'static str, Wrap)>,
    floors: &[Floor],
    check: impl Fn(String, Tool, Boxed) -> F,
) {
    for (layer, wrap) in layers {
        for (floor, make) in floors {
            let tool = Tool::default();
            let stack = wrap(make(tool.clone()));
            check(format!("{layer} over {floor}"), tool, stack).await;
        }
    }
}

async fn fine(stack: &Boxed) -> Result<Answer, BoxError> {
    timeout(10 * SECOND, stack.clone().oneshot(Call::tool("fine"))).await?
}

#[tokio::test(start_paused = true)]
async fn callers_in_tasks_of_their_own_all_finish_and_every_attempt_finds_a_ready_instance() {
    on_each(LAYERS, &FLOORS, async |case, tool, stack| {
        let mut callers = JoinSet::new();
        for name in ["a", "b", "c"] {
            let mut stack = stack.clone();
            callers.spawn(async move {
                // Layers that do not repeat calls have them repeated here.
                for _ in 0..2 {
                    let answer = stack.ready().await.unwrap().call(Call::tool(name)).await;
                    if answer.is_ok_and(|answer| !answer.is_error) {
                        return;
                    }
                }
                panic!("the second attempt failed");
            });
        }
        let all = timeout(HOUR, callers.join_all()).await;
        assert!(all.is_ok(), "{case}");
        let calls = ["a", "b", "c"].map(|name| tool.calls(name));
        assert_eq!(calls, [2, 2, 2], "{case}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_in_an_attempt_stops_it_at_once_and_gives_everything_back() {
    on_each(LAYERS, &FLOORS, async |case, tool, stack| {
        let mut call = Box::pin(stack.clone().oneshot(Call::read_only("hangs")));
        assert!(timeout(SECOND, &mut call).await.is_err(), "{case}");
        assert_eq!(tool.running(), 1, "{case}");
        drop(call);
        assert_eq!(tool.running(), 0, "{case}");
        assert!(fine(&stack).await.is_ok(), "{case}");
        sleep(HOUR).await;
        assert_eq!(tool.calls("hangs"), 1, "{case}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_in_a_wait_is_never_made_again() {
    on_each(waiting(), &FLOORS, async |case, tool, stack| {
        let call = stack.clone().oneshot(Call::tool("a"));
        assert!(timeout(500 * MS, call).await.is_err(), "{case}");
        assert!(fine(&stack).await.is_ok(), "{case}");
        sleep(HOUR).await;
        assert_eq!(tool.calls("a"), 1, "{case}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_permit_is_held_while_a_call_waits() {
    on_each(
        waiting(),
        &[("limit", limited)],
        async |case, tool, stack| {
            let begun = Instant::now();
            let call = tokio::spawn(stack.clone().oneshot(Call::tool("a")));
            sleep(500 * MS).await;
            assert!(fine(&stack).await.is_ok(), "{case}");
            assert_eq!(begun.elapsed(), 500 * MS, "{case}");
            assert_eq!(tool.calls("a"), 1, "{case}");
            assert_eq!(call.await.unwrap().unwrap(), Answer::ok("fine"), "{case}");
            assert_eq!(begun.elapsed(), SECOND, "{case}");
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_while_it_waits_for_readiness_leaves_its_place_to_the_next() {
    let layers = LAYERS.into_iter();
    on_each(layers, &[("limit", limited)], async |case, tool, stack| {
        let holder = stack.clone().oneshot(Call::read_only("hangs"));
        let holder = tokio::spawn(timeout(2 * SECOND, holder));
        sleep(MS).await;
        let call = stack.clone().oneshot(Call::tool("a"));
        assert!(timeout(SECOND, call).await.is_err(), "{case}");
        assert!(fine(&stack).await.is_ok(), "{case}");
        assert!(holder.await.unwrap().is_err(), "{case}");
        assert_eq!(tool.calls("a"), 0, "{case}");
    })
    .await;
    // The same before a later attempt.
    on_each(
        waiting(),
        &[("limit", limited)],
        async |case, tool, stack| {
            let call = tokio::spawn(timeout(2 * SECOND, stack.clone().oneshot(Call::tool("a"))));
            sleep(500 * MS).await;
            let holder = stack.clone().oneshot(Call::read_only("hangs"));
            assert!(timeout(5 * SECOND, holder).await.is_err(), "{case}");
            assert!(call.await.unwrap().is_err(), "{case}");
            assert!(fine(&stack).await.is_ok(), "{case}");
            sleep(HOUR).await;
            assert_eq!(tool.calls("a"), 1, "{case}");
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn readiness_is_that_of_the_service_within() {
    // The preset is always ready, and its calls wait.
    let passing = || passing().filter(|(case, _)| *case != "preset");
    on_each(passing(), &[("limit", limited)], async |case, _, stack| {
        let mut holder = stack.clone();
        let mut other = stack.clone();
        holder.ready().await.unwrap();
        // Asked twice, it reserves once.
        holder.ready().await.unwrap();
        assert!(timeout(SECOND, other.ready()).await.is_err(), "{case}");
        // Not called, it gives back what it reserved.
        drop(holder);
        assert!(timeout(SECOND, other.ready()).await.is_ok(), "{case}");
    })
    .await;
    for (case, wrap) in passing() {
        let mut stack = wrap(boxed(Unready(Class::Disabled)));
        let failure = Failure::from(stack.ready().await.map(drop).unwrap_err());
        assert_eq!(failure.class(), Class::Disabled, "{case}");
        assert_eq!(failure.to_string(), "not ready", "{case}");
    }
}

/// Never ready again.
#[derive(Clone, Debug)]
pub(crate) struct Unready(pub(crate) Class);

impl Service<Call> for Unready {
    type Response = Answer;
    type Error = Failure;
    type Future = Ready<Result<Answer, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Err(Failure::new(self.0, "not ready")))
    }

    fn call(&mut self, _: Call) -> Self::Future {
        panic!("called though it was not ready")
    }
}

#[tokio::test(start_paused = true)]
async fn calls_on_clones_run_at_the_same_time() {
    for (case, wrap) in LAYERS {
        let (begun, stack) = (Instant::now(), wrap(boxed(Tool::default())));
        let calls = (0..5).map(|_| stack.clone().oneshot(Call::tool("slow")));
        for answer in calls.collect::<JoinSet<_>>().join_all().await {
            assert_eq!(answer.unwrap(), Answer::ok("fine"), "{case}");
        }
        assert_eq!(begun.elapsed(), 500 * MS, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_layer_takes_a_service_that_cannot_fail_and_speaks_of_failures_itself() {
    fn check<S>(service: S) -> Boxed
    where
        S: Service<Call, Response = Answer, Error = Failure, Future: Send + Debug>,
        S: Clone + Debug + Send + Sync + Unpin + 'static,
    {
        boxed(service)
    }
    let infallible = Infallibly;
    let connector = service_fn(|()| ready(Ok::<_, Infallible>(Infallibly)));
    let stacks = [
        check(ClassifyLayer::new().layer(infallible)),
        check(IsErrorLayer::new().layer(infallible)),
        check(FatalLayer::new().layer(infallible)),
        check(CallLogLayer::off().layer(infallible)),
        check(retry().layer(infallible)),
        check(preset().layer(infallible)),
        check(ReconnectLayer::new(()).layer(connector)),
        check(preset().connect(&ReconnectLayer::new(()), connector).0),
    ];
    for stack in stacks {
        assert_eq!(fine(&stack).await.unwrap(), Answer::ok("fine"));
    }
}

/// Fails no call.
#[derive(Clone, Copy, Debug)]
struct Infallibly;

impl Service<Call> for Infallibly {
    type Response = Answer;
    type Error = Infallible;
    type Future = Ready<Result<Answer, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Call) -> Self::Future {
        ready(Ok(Answer::ok("fine")))
    }
}

#[tokio::test(start_paused = true)]
async fn only_layers_that_repeat_calls_need_a_service_that_can_be_cloned() {
    let unique = || BoxService::new(Tool::default());
    let classified = ClassifyLayer::new().layer(unique());
    let stopping = FatalLayer::new().layer(classified);
    let flagging = IsErrorLayer::new().layer(stopping);
    let logging = CallLogLayer::off().layer(flagging);
    let answer = logging.oneshot(Call::tool("fine")).await;
    assert_eq!(answer.unwrap(), Answer::ok("fine"));
}

/// Every order of the numbers below `n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else {
        return vec![vec![]];
    };
    let with_last = |order: Vec<usize>| {
        (0..n).map(move |at| {
            let mut order = order.clone();
            order.insert(at, last);
            order
        })
    };
    orders(last).into_iter().flat_map(with_last).collect()
}

#[tokio::test(start_paused = true)]
async fn the_layers_keep_the_class_in_whatever_order_they_stand() {
    const CLASSIFY: usize = 0;
    const FATAL: usize = 1;
    // Layers outside of `IsError` do not see its failures.
    let passes_is_error = [Class::Protocol, Class::Cancelled, Class::Fatal];
    let wrap: [Wrap; 5] = [0, 2, 3, 4, 1].map(|at| LAYERS[at].1);
    for class in Class::all() {
        let count = 4 + usize::from(passes_is_error.contains(&class));
        for order in orders(count) {
            let failing =
                service_fn(move |_: Call| ready(Err::<Answer, _>(Failure::new(class, "as told"))));
            let stack = order
                .iter()
                .fold(boxed(failing), |inner, &at| wrap[at](inner));
            let outcome = stack.oneshot(Call::read_only("t")).await;
            // The end of an inner stack does not end the outer one.
            let at = |layer| order.iter().position(|&at| at == layer);
            if class == Class::Fatal && at(FATAL) < at(CLASSIFY) {
                let is_disabled = |error: &BoxError| {
                    let failure = error.downcast_ref::<Failure>();
                    failure.is_some_and(|failure| failure.class() == Class::Disabled)
                };
                let is_one = outcome.as_ref().err().is_none_or(is_disabled);
                assert!(is_one, "{order:?}: {outcome:?}");
                continue;
            }
            let failure = outcome.unwrap_err().downcast::<Failure>().unwrap();
            assert_eq!(failure.class(), class, "{order:?}");
            assert_eq!(failure.to_string(), "as told", "{order:?}, {class}");
        }
    }
}
