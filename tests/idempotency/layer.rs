//! Calls with a key through the layer.

use crate::support::{Answer, Call, Fault, Faulty};
use mcp_resilience::{
    Class, Delivery, Failure, ResilienceLayer,
    call_log::{CallLogLayer, Record, Sink},
    classify::ClassifyLayer,
    idempotency::{IdempotencyLayer, InvalidIdempotency, MemoryStore, codes},
    is_error::IsErrorLayer,
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    task::yield_now,
    time::{Instant, sleep, timeout},
};
use tower::{
    BoxError, Layer, Service, ServiceBuilder, ServiceExt, limit::ConcurrencyLimitLayer,
    util::BoxCloneSyncService,
};

type Tools = BoxCloneSyncService<Call, Answer, Failure>;

const SECOND: Duration = Duration::from_secs(1);

/// Says when each run began and which ended by itself.
#[derive(Clone, Debug, Default)]
struct Diary(Arc<Mutex<(u32, u32)>>);

impl Diary {
    fn begun(&self) -> u32 {
        self.0.lock().unwrap().0
    }

    fn ended(&self) -> u32 {
        self.0.lock().unwrap().1
    }
}

/// A tool that takes so long, and answers with the number of its run.
fn slow(layer: &IdempotencyLayer, takes: Duration) -> (Tools, Diary) {
    let diary = Diary::default();
    let tools = with(layer, takes, &diary, |run| Ok(Answer::ok(run)));
    (tools, diary)
}

fn with(
    layer: &IdempotencyLayer,
    takes: Duration,
    diary: &Diary,
    end: impl Fn(u32) -> Result<Answer, BoxError> + Clone + Send + Sync + 'static,
) -> Tools {
    let diary = diary.clone();
    let tool = move |_: Call| {
        let (diary, end) = (diary.clone(), end.clone());
        async move {
            let run = {
                let mut diary = diary.0.lock().unwrap();
                diary.0 += 1;
                diary.0
            };
            sleep(takes).await;
            diary.0.lock().unwrap().1 += 1;
            end(run)
        }
    };
    let tools = ServiceBuilder::new()
        .layer(layer.clone())
        .layer(IsErrorLayer::new())
        .layer(ClassifyLayer::new())
        .service_fn(tool);
    BoxCloneSyncService::new(tools)
}

fn call() -> Call {
    Call::keyed("book", "order-1").arguments(json!({"seat": 1}))
}

#[tokio::test(start_paused = true)]
async fn a_second_attempt_gets_the_first_answer_and_a_mark() {
    let (tools, diary) = slow(&IdempotencyLayer::new(), SECOND);
    let first = tools.clone().oneshot(call()).await.unwrap();
    assert_eq!(first, Answer::ok(1));
    let second = tools.oneshot(call()).await.unwrap();
    assert_eq!(second, Answer::ok(1).replayed());
    assert_eq!(diary.begun(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_key_runs_each_time() {
    let (tools, diary) = slow(&IdempotencyLayer::new(), SECOND);
    for _ in 0..2 {
        tools.clone().oneshot(Call::new("book")).await.unwrap();
    }
    assert_eq!(diary.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_waits_for_the_run_and_gets_its_answer() {
    let (tools, diary) = slow(&IdempotencyLayer::new(), 20 * SECOND);
    let begun = Instant::now();
    let all = (0..8).map(|_| tokio::spawn(tools.clone().oneshot(call())));
    let all: Vec<_> = all.collect();
    for answer in all {
        assert_eq!(answer.await.unwrap().unwrap().text, "1");
    }
    assert_eq!(diary.begun(), 1);
    let took = begun.elapsed();
    let latest = 20 * SECOND + SECOND / 2;
    assert!(
        took <= latest,
        "the longest pause is half a second: {took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_waits_too_long_is_told_to_come_back() {
    let layer = IdempotencyLayer::builder(MemoryStore::new())
        .wait(10 * SECOND)
        .build()
        .unwrap();
    let (tools, _) = slow(&layer, 60 * SECOND);
    let run = tokio::spawn(tools.clone().oneshot(call()));
    yield_now().await;
    let begun = Instant::now();
    let answer = tools.oneshot(call()).await.unwrap();
    assert_eq!(answer.code(), Some(codes::IN_FLIGHT));
    assert!(answer.text.contains("still runs"), "{}", answer.text);
    assert_eq!(answer.structured.unwrap()["retryAfter"], 5);
    let waited = begun.elapsed();
    assert!(waited >= 10 * SECOND && waited < 11 * SECOND, "{waited:?}");
    assert_eq!(run.await.unwrap().unwrap(), Answer::ok(1));
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_kept_for_a_day_and_no_longer() {
    let (tools, diary) = slow(&IdempotencyLayer::new(), Duration::ZERO);
    tools.clone().oneshot(call()).await.unwrap();
    sleep((24 * 60 * 60 - 1) * SECOND).await;
    let kept = tools.clone().oneshot(call()).await.unwrap();
    assert_eq!(kept, Answer::ok(1).replayed());
    sleep(SECOND).await;
    let run_again = tools.oneshot(call()).await.unwrap();
    assert_eq!(run_again, Answer::ok(2));
    assert_eq!(diary.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_when_its_caller_is_gone() {
    let layer = IdempotencyLayer::new();
    let (tools, diary) = slow(&layer, 100 * SECOND);
    let gone = timeout(SECOND, tools.clone().oneshot(call())).await;
    assert!(gone.is_err());
    assert_eq!((diary.begun(), layer.handle().running()), (1, 1));
    let answer = timeout(200 * SECOND, async {
        layer.handle().idle().await;
        tools.oneshot(call()).await
    });
    let answer = answer.await.unwrap().unwrap();
    assert_eq!(answer, Answer::ok(1).replayed());
    assert_eq!((diary.begun(), diary.ended()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_caller_has_a_limit() {
    let layer = IdempotencyLayer::builder(MemoryStore::new())
        .run_limit(60 * SECOND)
        .build()
        .unwrap();
    let (tools, diary) = slow(&layer, 100 * SECOND);
    assert!(
        timeout(SECOND, tools.clone().oneshot(call()))
            .await
            .is_err()
    );
    let begun = Instant::now();
    layer.handle().idle().await;
    assert_eq!(begun.elapsed(), 60 * SECOND);
    assert_eq!(diary.ended(), 0);
    let answer = tools.oneshot(call()).await.unwrap();
    assert_eq!(answer.code(), Some(codes::UNKNOWN));
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_on_when_the_layer_is_gone() {
    let layer = IdempotencyLayer::new();
    let (tools, diary) = slow(&layer, 100 * SECOND);
    assert!(timeout(SECOND, tools.oneshot(call())).await.is_err());
    drop(layer);
    sleep(200 * SECOND).await;
    assert_eq!((diary.begun(), diary.ended()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_stops_and_is_unknown() {
    let layer = IdempotencyLayer::new();
    let (tools, diary) = slow(&layer, 100 * SECOND);
    let call = call();
    let run = tokio::spawn(tools.clone().oneshot(call.clone()));
    sleep(SECOND).await;
    call.cancellation.cancel();
    let failure = run.await.unwrap().unwrap_err();
    assert_eq!(failure.class(), Class::Cancelled);
    assert_eq!(failure.delivery(), Delivery::Unknown);
    assert_eq!(diary.ended(), 0);
    let call = self::call();
    let answer = tools.oneshot(call).await.unwrap();
    assert_eq!(answer.code(), Some(codes::UNKNOWN));
    let envelope = answer.structured.unwrap();
    assert_eq!(envelope["retryable"], false);
    assert!(
        answer
            .text
            .contains("It may have run; verify before repeating.")
    );
    assert_eq!(diary.begun(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_while_it_waits_stops_waiting_alone() {
    let (tools, diary) = slow(&IdempotencyLayer::new(), 20 * SECOND);
    let run = tokio::spawn(tools.clone().oneshot(call()));
    sleep(SECOND).await;
    let second = call();
    let waiting = tokio::spawn(tools.clone().oneshot(second.clone()));
    sleep(SECOND).await;
    second.cancellation.cancel();
    let failure = waiting.await.unwrap().unwrap_err();
    assert_eq!(failure.delivery(), Delivery::NotSent);
    assert_eq!(run.await.unwrap().unwrap(), Answer::ok(1));
    assert_eq!(diary.begun(), 1);
}

/// A process that is killed: nothing of it is polled again.
async fn killed(store: &MemoryStore, call: Call) -> Diary {
    let layer = IdempotencyLayer::with_store(store.clone());
    let (tools, diary) = slow(&layer, 100 * SECOND);
    drop(layer);
    let answer = tools.oneshot(call);
    assert!(timeout(SECOND, answer).await.is_err());
    diary
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_died_leaves_an_unknown_call_after_its_lease() {
    let store = MemoryStore::new();
    assert_eq!(killed(&store, call()).await.begun(), 1);
    let (tools, diary) = slow(&IdempotencyLayer::with_store(store), SECOND);
    let begun = Instant::now();
    let answer = tools.oneshot(call()).await.unwrap();
    assert_eq!(answer.code(), Some(codes::UNKNOWN));
    let waited = begun.elapsed();
    assert!(waited > 28 * SECOND && waited < 30 * SECOND, "{waited:?}");
    assert_eq!(diary.begun(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_may_run_twice_runs_again_after_its_runner_died() {
    let store = MemoryStore::new();
    killed(&store, call().may_run_twice()).await;
    let (tools, diary) = slow(&IdempotencyLayer::with_store(store), SECOND);
    let answer = tools.oneshot(call().may_run_twice()).await.unwrap();
    assert_eq!(answer, Answer::ok(1));
    assert_eq!(diary.begun(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_call_is_settled_by_the_host() {
    for did_run in [true, false] {
        let store = MemoryStore::new();
        killed(&store, call().by(b"me")).await;
        sleep(60 * SECOND).await;
        let layer = IdempotencyLayer::with_store(store);
        let (tools, diary) = slow(&layer, SECOND);
        let (handle, key) = (layer.handle(), call().key());
        let me = Some(&b"me"[..]);
        let settle = async |identity| {
            if did_run {
                handle
                    .settle_as_done(identity, &key, Answer::ok("by hand"))
                    .await
            } else {
                handle.settle_as_not_run(identity, &key).await
            }
        };
        assert!(!settle(None).await.unwrap(), "of another identity");
        assert!(settle(me).await.unwrap());
        assert!(!settle(me).await.unwrap(), "it is not unknown any more");
        let answer = tools.oneshot(call().by(b"me")).await.unwrap();
        if did_run {
            assert_eq!(answer, Answer::ok("by hand").replayed());
        } else {
            assert_eq!(answer, Answer::ok(1));
        }
        assert_eq!(diary.begun(), u32::from(!did_run));
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_while_the_store_cannot_be_reached() {
    for fault in [Fault::Before, Fault::Hang] {
        let store = Faulty::new(MemoryStore::new(), vec![fault; 1000]);
        let (tools, diary) = slow(&IdempotencyLayer::with_store(store.clone()), SECOND);
        let begun = Instant::now();
        let answer = tools.clone().oneshot(call()).await.unwrap();
        let waited = begun.elapsed();
        assert!(waited >= 5 * SECOND && waited < 6 * SECOND, "{waited:?}");
        assert_eq!(answer.code(), Some("service_unavailable"));
        let envelope = answer.structured.unwrap();
        assert_eq!(envelope["retryAfter"], 1);
        assert_eq!(envelope["retryable"], true);
        assert!(!answer.text.contains("may have run"), "{}", answer.text);
        assert_eq!(diary.begun(), 0);
        store.heal();
        let answer = tools.oneshot(call()).await.unwrap();
        assert_eq!(answer, Answer::ok(1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_is_still_its_own() {
    let store = Faulty::new(MemoryStore::new(), [Fault::After]);
    let (tools, _) = slow(&IdempotencyLayer::with_store(store), SECOND);
    let answer = tools.oneshot(call()).await.unwrap();
    assert_eq!(answer, Answer::ok(1));
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_stored_once_the_store_is_back() {
    // The claim works, and then ten seconds nothing does.
    let faults = std::iter::once(Fault::Slow(0, 0)).chain([Fault::Before; 20]);
    let store = Faulty::new(MemoryStore::new(), faults);
    let (tools, diary) = slow(&IdempotencyLayer::with_store(store), SECOND);
    let first = tools.clone().oneshot(call()).await.unwrap();
    assert_eq!(first, Answer::ok(1));
    let second = tools.oneshot(call()).await.unwrap();
    assert_eq!(second, Answer::ok(1).replayed());
    assert_eq!(diary.begun(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_layer_may_run_calls_without_protection() {
    let store = Faulty::new(MemoryStore::new(), vec![Fault::Before; 1000]);
    let layer = IdempotencyLayer::builder(store)
        .run_unprotected()
        .build()
        .unwrap();
    let (tools, diary) = slow(&layer, SECOND);
    for _ in 0..2 {
        let answer = tools.clone().oneshot(call()).await.unwrap();
        assert!(!answer.is_error && !answer.is_replayed, "{answer:?}");
    }
    assert_eq!(diary.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_renews_its_lease_however_long_it_takes() {
    let store = MemoryStore::new();
    let (tools, diary) = slow(&IdempotencyLayer::with_store(store.clone()), 3000 * SECOND);
    let run = tokio::spawn(tools.clone().oneshot(call()));
    for _ in 0..20 {
        sleep(60 * SECOND).await;
        let answer = tools.clone().oneshot(call()).await.unwrap();
        assert_eq!(answer.code(), Some(codes::IN_FLIGHT));
    }
    assert_eq!(run.await.unwrap().unwrap(), Answer::ok(1));
    assert_eq!(diary.begun(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_holds_no_place_of_a_concurrency_limit() {
    let layer = IdempotencyLayer::new();
    let (tools, _) = slow(&IdempotencyLayer::new(), 10 * SECOND);
    let mut tools = ServiceBuilder::new()
        .layer(layer)
        .layer(ConcurrencyLimitLayer::new(1))
        .service(tools);
    let unkeyed = |name| Call::new(name);
    let run = tools.ready().await.unwrap().call(call());
    let run = tokio::spawn(run);
    yield_now().await;
    let waiting = tokio::spawn(tools.clone().oneshot(call()));
    sleep(11 * SECOND).await;
    let other = timeout(11 * SECOND, tools.oneshot(unkeyed("list"))).await;
    assert_eq!(other.unwrap().unwrap(), Answer::ok(2));
    assert_eq!(run.await.unwrap().unwrap(), Answer::ok(1));
    assert_eq!(waiting.await.unwrap().unwrap().text, "1");
}

#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<Vec<Value>>>);

impl Sink for Lines {
    fn write(&self, record: &Record<'_>) {
        let line = serde_json::from_str(&record.to_json()).unwrap();
        self.0.lock().unwrap().push(line);
    }
}

#[tokio::test(start_paused = true)]
async fn the_log_has_a_line_for_each_attempt_and_marks_replays() {
    let lines = Lines::default();
    let layer = IdempotencyLayer::new();
    let stack = ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .idempotency(layer)
        .build()
        .unwrap();
    let tool = tower::service_fn(async |call: Call| match call.tool {
        "fail" => Err(BoxError::from(Failure::tool("no such seat"))),
        _ => Ok(Answer::ok("booked")),
    });
    let tools = stack.layer(tool);
    for tool in ["book", "fail"] {
        for _ in 0..2 {
            let call = Call::keyed(tool, tool);
            tools.clone().oneshot(call).await.unwrap();
        }
    }
    let lines = lines.0.lock().unwrap();
    let seen: Vec<_> = lines
        .iter()
        .map(|line| {
            let text = |name: &str| line[name].as_str().unwrap_or("").to_owned();
            (text("tool"), text("outcome"), line["replayed"].clone())
        })
        .collect();
    let line =
        |tool: &str, outcome: &str, replayed| (tool.to_owned(), outcome.to_owned(), replayed);
    assert_eq!(
        seen,
        [
            line("book", "success", Value::Null),
            line("book", "success", json!(true)),
            line("fail", "failed", Value::Null),
            line("fail", "failed", json!(true)),
        ]
    );
    assert_eq!(
        lines[2]["class"], "tool",
        "known through the run's own ledger"
    );
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let builder = || IdempotencyLayer::builder(MemoryStore::new());
    let lease = builder().lease(Duration::ZERO).build().unwrap_err();
    assert_eq!(lease, InvalidIdempotency::ShortLease(Duration::ZERO));
    let keep = builder().keep(Duration::ZERO).build().unwrap_err();
    assert_eq!(keep, InvalidIdempotency::ShortKeep(Duration::ZERO));
    let store_timeout = builder().store_timeout(Duration::ZERO).build().unwrap_err();
    assert_eq!(store_timeout, InvalidIdempotency::ZeroStoreTimeout);
    assert!(lease.to_string().contains("`lease`"), "{lease}");
}

#[tokio::test]
async fn a_panic_of_a_run_does_not_take_the_next_attempt_along() {
    let layer = IdempotencyLayer::new();
    let mut tools = layer.layer(tower::service_fn(async |call: Call| {
        assert_ne!(call.tool, "panic");
        Ok::<_, Failure>(Answer::ok(1))
    }));
    let run = tools.call(Call::keyed("panic", "k"));
    assert!(tokio::spawn(run).await.unwrap_err().is_panic());
    assert_eq!(layer.handle().running(), 0);
    let other = tools.call(Call::keyed("book", "other"));
    assert_eq!(other.await.unwrap(), Answer::ok(1));
}
