//! Calls that ask for input: all their rounds have one key.

use crate::support::{Answer, Call};
use mcp_resilience::{
    Failure,
    idempotency::{IdempotencyLayer, codes},
};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};
use tokio::task::yield_now;
use tower::{Layer, ServiceExt, service_fn, util::BoxCloneSyncService};

type Tools = BoxCloneSyncService<Call, Answer, Failure>;

/// A tool that gives these answers, one in each run, and then hangs.
struct Desk {
    tools: Tools,
    runs: Arc<AtomicUsize>,
}

fn desk(layer: &IdempotencyLayer, answers: impl IntoIterator<Item = Answer>) -> Desk {
    let answers: VecDeque<_> = answers.into_iter().collect();
    let (answers, runs) = (Arc::new(Mutex::new(answers)), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&runs);
    let tools = layer.layer(service_fn(move |_: Call| {
        counted.fetch_add(1, Relaxed);
        let answer = answers.lock().unwrap().pop_front();
        async move {
            match answer {
                Some(answer) => Ok::<_, Failure>(answer),
                None => std::future::pending().await,
            }
        }
    }));
    let tools = BoxCloneSyncService::new(tools);
    Desk { tools, runs }
}

impl Desk {
    async fn call(&self, call: Call) -> Answer {
        self.tools.clone().oneshot(call).await.unwrap()
    }

    fn runs(&self) -> usize {
        self.runs.load(Relaxed)
    }
}

fn first() -> Call {
    Call::keyed("book", "order-1")
}

fn seats(number: u32) -> Value {
    json!({"seats": number})
}

#[tokio::test]
async fn each_round_runs_once_and_has_its_own_answer() {
    let answers = [Answer::asks("s1"), Answer::asks("s2"), Answer::ok("booked")];
    let desk = desk(&IdempotencyLayer::new(), answers.clone());
    let rounds = [
        first(),
        first().under("s1", &seats(2)),
        first().under("s2", &json!({"sure": true})),
    ];
    for (round, answer) in rounds.iter().zip(&answers) {
        assert_eq!(desk.call(round.clone()).await, *answer);
    }
    for (round, answer) in rounds.iter().zip(&answers) {
        let again = desk.call(round.clone()).await;
        assert_eq!(again, answer.clone().replayed());
    }
    assert_eq!(desk.runs(), 3);
}

#[tokio::test]
async fn other_input_for_a_round_that_ran_is_a_conflict() {
    let answers = [Answer::asks("s1"), Answer::asks("s2"), Answer::ok("booked")];
    let desk = desk(&IdempotencyLayer::new(), answers);
    desk.call(first()).await;
    desk.call(first().under("s1", &seats(2))).await;
    desk.call(first().under("s2", &json!({}))).await;
    for other in [
        first().under("s2", &seats(3)),
        first().under("s1", &seats(3)),
        first().under("s1", &Value::Null),
        first().under("made up", &seats(2)),
        first().under("s1", &seats(2)).arguments(json!({"row": 1})),
    ] {
        let answer = desk.call(other.clone()).await;
        assert_eq!(answer.code(), Some(codes::CONFLICT), "{other:?}");
    }
    assert_eq!(desk.runs(), 3);
}

#[tokio::test]
async fn a_round_that_the_server_did_not_ask_for_is_a_conflict_and_leaves_the_next_one_free() {
    let answers = [Answer::asks("s1"), Answer::ok("booked")];
    let desk = desk(&IdempotencyLayer::new(), answers);
    desk.call(first()).await;
    let made_up = first().under("made up", &seats(2));
    let answer = desk.call(made_up).await;
    assert_eq!(answer.code(), Some(codes::CONFLICT));
    let answer = desk.call(first().under("s1", &seats(2))).await;
    assert_eq!(answer, Answer::ok("booked"));
}

#[tokio::test]
async fn a_call_that_is_done_has_no_further_round() {
    let desk = desk(&IdempotencyLayer::new(), [Answer::ok("booked")]);
    desk.call(first()).await;
    let answer = desk.call(first().under("s1", &seats(2))).await;
    assert_eq!(answer.code(), Some(codes::CONFLICT));
    assert_eq!(desk.runs(), 1);
}

/// As a server does that keeps no state, and got no number that it can use.
#[tokio::test]
async fn a_server_may_ask_again_under_the_same_state() {
    let answers = [Answer::asks("s1"), Answer::asks("s1"), Answer::ok("booked")];
    let desk = desk(&IdempotencyLayer::new(), answers);
    desk.call(first()).await;
    let too_many = first().under("s1", &seats(1000));
    assert!(desk.call(too_many.clone()).await.is_interim);
    let answer = desk.call(first().under("s1", &seats(2))).await;
    assert_eq!(answer, Answer::ok("booked"));
    let again = desk.call(too_many).await;
    assert_eq!(again, Answer::asks("s1").replayed());
    let answer = desk.call(first().under("s1", &seats(3))).await;
    assert_eq!(answer.code(), Some(codes::CONFLICT));
    assert_eq!(desk.runs(), 3);
}

#[tokio::test]
async fn a_server_that_only_wants_to_be_asked_again_is() {
    let answers = [Answer::asks("s1"), Answer::asks("s1"), Answer::ok("booked")];
    let desk = desk(&IdempotencyLayer::new(), answers);
    desk.call(first()).await;
    let later = first().under("s1", &Value::Null);
    assert_eq!(desk.call(later.clone()).await, Answer::asks("s1"));
    assert_eq!(desk.call(later.clone()).await, Answer::ok("booked"));
    assert_eq!(desk.call(later).await, Answer::ok("booked").replayed());
}

#[tokio::test]
async fn a_round_whose_beginning_is_not_known_runs_once() {
    let desk = desk(&IdempotencyLayer::new(), [Answer::ok("booked")]);
    let round = first().under("s1", &seats(2));
    assert_eq!(desk.call(round.clone()).await, Answer::ok("booked"));
    let again = desk.call(round).await;
    assert_eq!(again, Answer::ok("booked").replayed());
    let answer = desk.call(first().under("s1", &seats(3))).await;
    assert_eq!(answer.code(), Some(codes::CONFLICT));
    assert_eq!(desk.runs(), 1);
}

#[tokio::test]
async fn a_later_round_that_is_unknown_can_be_settled() {
    for did_run in [true, false] {
        let layer = IdempotencyLayer::new();
        let desk = desk(&layer, [Answer::asks("s1")]);
        desk.call(first()).await;
        let round = first().under("s1", &seats(2));
        let running = tokio::spawn(desk.tools.clone().oneshot(round.clone()));
        while desk.runs() < 2 {
            yield_now().await;
        }
        round.cancellation.cancel();
        running.await.unwrap().unwrap_err();
        let again = || Call {
            cancellation: mcp_resilience::call::Cancellation::new(),
            ..round.clone()
        };
        let answer = desk.call(again()).await;
        assert_eq!(answer.code(), Some(codes::UNKNOWN));
        let (handle, key) = (layer.handle(), first().key());
        let is_settled = if did_run {
            let answer = Answer::ok("booked");
            handle.settle_as_done(None, &key, answer).await.unwrap()
        } else {
            handle.settle_as_not_run(None, &key).await.unwrap()
        };
        assert!(is_settled);
        let first_round = desk.call(first()).await;
        assert_eq!(
            first_round,
            Answer::asks("s1").replayed(),
            "it is as it was"
        );
        if did_run {
            let answer = desk.call(again()).await;
            assert_eq!(answer, Answer::ok("booked").replayed());
            assert_eq!(desk.runs(), 2);
        } else {
            let running = tokio::spawn(desk.tools.clone().oneshot(again()));
            while desk.runs() < 3 {
                yield_now().await;
            }
            running.abort();
        }
    }
}
