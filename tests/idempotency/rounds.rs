//! Calls that ask for input: all their rounds have one key, and each runs once.

use crate::support::{Answer, Call};
use mcp_resilience::{
    Failure,
    call::Cancellation,
    idempotency::{IdempotencyLayer, MemoryStore, codes},
};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{task::yield_now, time::sleep};
use tower::{Layer, ServiceExt, service_fn, util::BoxCloneSyncService};

type Tools = BoxCloneSyncService<Call, Answer, Failure>;

/// A tool that gives these answers, one in each run, and then hangs.
struct Desk {
    tools: Tools,
    seen: Arc<Mutex<Vec<Call>>>,
}

fn desk(layer: &IdempotencyLayer, answers: impl IntoIterator<Item = Answer>) -> Desk {
    let answers: VecDeque<_> = answers.into_iter().collect();
    let (answers, seen) = (
        Arc::new(Mutex::new(answers)),
        Arc::<Mutex<Vec<_>>>::default(),
    );
    let all = Arc::clone(&seen);
    let tools = layer.layer(service_fn(move |call: Call| {
        all.lock().unwrap().push(call);
        let answer = answers.lock().unwrap().pop_front();
        async move {
            match answer {
                Some(answer) => Ok::<_, Failure>(answer),
                None => std::future::pending().await,
            }
        }
    }));
    let tools = BoxCloneSyncService::new(tools);
    Desk { tools, seen }
}

impl Desk {
    async fn call(&self, call: Call) -> Answer {
        self.tools.clone().oneshot(call).await.unwrap()
    }

    fn runs(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// The `requestState` of each run.
    fn states(&self) -> Vec<Option<String>> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|call| call.state.clone()).collect()
    }

    /// Runs a call that is cancelled while it runs.
    async fn lose(&self, call: Call) {
        let runs = self.runs();
        let call = Call {
            cancellation: Cancellation::new(),
            ..call
        };
        let running = tokio::spawn(self.tools.clone().oneshot(call.clone()));
        while self.runs() == runs {
            yield_now().await;
        }
        call.cancellation.cancel();
        running.await.unwrap().unwrap_err();
    }
}

fn first() -> Call {
    Call::keyed("book", "order-1")
}

fn seats(number: u32) -> Value {
    json!({"seats": number})
}

fn booked() -> Answer {
    Answer::ok("booked")
}

#[tokio::test]
async fn each_round_runs_once_and_has_its_own_answer() {
    let answers = [Answer::asks("s1"), Answer::asks("s2"), booked()];
    let desk = desk(&IdempotencyLayer::new(), answers);
    let which = desk.call(first()).await;
    let second = first().after(&which, &seats(2));
    let sure = desk.call(second.clone()).await;
    let third = first().after(&sure, &json!({"sure": true}));
    let done = desk.call(third.clone()).await;
    assert_eq!(done, booked());
    for (round, answer) in [(first(), which), (second, sure), (third, done)] {
        assert_eq!(desk.call(round).await, answer.replayed());
    }
    assert_eq!(desk.runs(), 3);
}

#[tokio::test]
async fn a_tool_gets_the_state_that_it_issued_or_none() {
    let states = [Some("s1"), None, Some(""), Some(";"), Some("ü \"\n")];
    let answers = states.map(|state| state.map_or(Answer::asks_without_state(), Answer::asks));
    let desk = desk(
        &IdempotencyLayer::new(),
        answers.into_iter().chain([booked()]),
    );
    let mut answer = desk.call(first()).await;
    while answer.is_interim {
        answer = desk.call(first().after(&answer, &seats(2))).await;
    }
    let issued = states.map(|state| state.map(str::to_owned));
    assert_eq!(desk.states()[1..], issued);
}

/// A client may drop the key of a call on its way.
#[tokio::test]
async fn a_tool_gets_its_own_state_also_in_a_call_without_a_key() {
    let desk = desk(&IdempotencyLayer::new(), [Answer::asks("s1"), booked()]);
    let which = desk.call(first()).await;
    let answer = desk.call(Call::new("book").after(&which, &seats(2))).await;
    assert_eq!(answer, booked());
    assert_eq!(desk.states()[1].as_deref(), Some("s1"));
}

#[tokio::test]
async fn a_call_without_a_key_is_not_touched() {
    let answers = [Answer::asks("s1"), Answer::asks_without_state()];
    let desk = desk(&IdempotencyLayer::new(), answers.clone());
    for answer in answers {
        assert_eq!(desk.call(Call::new("book")).await, answer);
    }
}

#[tokio::test]
async fn other_input_for_a_round_that_ran_is_a_conflict() {
    let answers = [Answer::asks("s1"), Answer::asks("s2"), booked()];
    let desk = desk(&IdempotencyLayer::new(), answers);
    let which = desk.call(first()).await;
    let second = first().after(&which, &seats(2));
    let sure = desk.call(second.clone()).await;
    desk.call(first().after(&sure, &json!({}))).await;
    let made_up = which.state.as_ref().unwrap().replace("s1", "made up");
    for other in [
        first().after(&which, &seats(3)),
        first().after(&which, &Value::Null),
        first().after(&sure, &seats(3)),
        first().under(&made_up, &seats(2)),
        second.arguments(json!({"row": 1})),
    ] {
        let answer = desk.call(other.clone()).await;
        assert_eq!(answer.code(), Some(codes::CONFLICT), "{other:?}");
        assert!(answer.text.contains("other input"), "{}", answer.text);
    }
    assert_eq!(desk.runs(), 3);
}

#[tokio::test(start_paused = true)]
async fn other_input_is_a_conflict_at_once_while_the_round_runs_and_when_it_is_unknown() {
    let desk = desk(&IdempotencyLayer::new(), [Answer::asks("s1")]);
    let which = desk.call(first()).await;
    let round = first().after(&which, &seats(2));
    let running = tokio::spawn(desk.tools.clone().oneshot(round.clone()));
    while desk.runs() < 2 {
        yield_now().await;
    }
    let other = first().after(&which, &seats(3));
    let begun = tokio::time::Instant::now();
    let answer = desk.call(other.clone()).await;
    assert_eq!(answer.code(), Some(codes::CONFLICT));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    round.cancellation.cancel();
    running.await.unwrap().unwrap_err();
    let answer = desk.call(other).await;
    assert_eq!(answer.code(), Some(codes::CONFLICT));
    assert_eq!(desk.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_round_is_known_for_as_long_as_its_own_outcome_is_kept() {
    const MINUTE: Duration = Duration::from_secs(60);
    let layer = IdempotencyLayer::builder(MemoryStore::new());
    let layer = layer.keep(10 * MINUTE).build().unwrap();
    let answers = [Answer::asks("s1"), Answer::asks("s1"), booked(), booked()];
    let desk = desk(&layer, answers);
    let which = desk.call(first()).await;
    let sure = desk.call(first().after(&which, &seats(2))).await;
    sleep(9 * MINUTE).await;
    let last = first().after(&sure, &seats(2));
    assert_eq!(desk.call(last.clone()).await, booked());
    sleep(9 * MINUTE).await;
    assert_eq!(desk.call(last.clone()).await, booked().replayed());
    assert_eq!(desk.runs(), 3);
    sleep(MINUTE).await;
    assert_eq!(desk.call(last).await, booked(), "it is forgotten");
}

#[tokio::test]
async fn a_question_that_is_not_kept_can_be_answered() {
    let layer = IdempotencyLayer::builder(MemoryStore::new());
    let layer = layer.max_outcome(64).build().unwrap();
    let desk = desk(&layer, [Answer::asks("s".repeat(100)), booked()]);
    let which = desk.call(first()).await;
    let again = desk.call(first()).await;
    assert_eq!(again.code(), Some(codes::NOT_KEPT));
    let round = first().after(&which, &seats(2));
    assert_eq!(desk.call(round).await, booked());
}

/// Like a server without state, or one that asks "sure?" and then "really?".
#[tokio::test]
async fn the_same_input_twice_under_one_state_is_two_rounds() {
    for question in [Answer::asks("s1"), Answer::asks_without_state()] {
        let answers = [question.clone(), question.clone(), booked()];
        let desk = desk(&IdempotencyLayer::new(), answers);
        let yes = json!({"sure": true});
        let sure = desk.call(first()).await;
        let really = desk.call(first().after(&sure, &yes)).await;
        assert!(really.is_interim && really != sure, "{really:?}");
        let again = desk.call(first().after(&sure, &yes)).await;
        assert_eq!(again, really.clone().replayed(), "a retry");
        let last = first().after(&again, &yes);
        assert_eq!(desk.call(last.clone()).await, booked());
        assert_eq!(desk.call(last).await, booked().replayed());
        assert_eq!(desk.runs(), 3);
        assert_eq!(desk.states()[1], desk.states()[2]);
    }
}

#[tokio::test]
async fn a_server_may_ask_to_be_called_again_any_number_of_times() {
    let polls = vec![Answer::asks("s1"); 150];
    let desk = desk(
        &IdempotencyLayer::new(),
        polls.into_iter().chain([booked()]),
    );
    let mut call = first();
    loop {
        let answer = desk.call(call.clone()).await;
        let again = desk.call(call).await;
        assert_eq!(again, answer.clone().replayed());
        if answer == booked() {
            break;
        }
        call = Call {
            state: answer.state,
            ..first()
        };
    }
    assert_eq!(desk.runs(), 151);
}

/// As after a restart of a store in memory.
#[tokio::test]
async fn a_round_whose_beginning_is_forgotten_runs_once() {
    let before = desk(&IdempotencyLayer::new(), [Answer::asks("s1")]);
    let which = before.call(first()).await;
    let after = desk(&IdempotencyLayer::new(), [booked()]);
    let round = first().after(&which, &seats(2));
    assert_eq!(after.call(round.clone()).await, booked());
    assert_eq!(after.call(round).await, booked().replayed());
    let answer = after.call(first().after(&which, &seats(3))).await;
    assert_eq!(answer.code(), Some(codes::CONFLICT));
    assert_eq!(after.runs(), 1);
}

/// As during the rollout of the layer: another replica has answered the first round.
#[tokio::test]
async fn a_round_that_began_without_the_layer_runs_once_and_so_do_those_after_it() {
    let answers = [Answer::asks("s1"), Answer::asks("s1"), booked()];
    let desk = desk(&IdempotencyLayer::new(), answers);
    let second = first().under("s1", &seats(2));
    let sure = desk.call(second.clone()).await;
    assert_eq!(desk.call(second).await, sure.clone().replayed());
    let answer = desk.call(first().under("s1", &seats(3))).await;
    assert_eq!(answer.code(), Some(codes::CONFLICT));
    let third = first().after(&sure, &seats(2));
    let really = desk.call(third.clone()).await;
    assert_eq!(desk.call(third).await, really.clone().replayed());
    let last = first().after(&really, &seats(2));
    assert_eq!(desk.call(last.clone()).await, booked());
    assert_eq!(desk.call(last).await, booked().replayed());
    assert_eq!(desk.states(), vec![Some("s1".to_owned()); 3]);
}

#[tokio::test]
async fn a_later_round_that_is_unknown_can_be_settled() {
    for did_run in [true, false] {
        let layer = IdempotencyLayer::new();
        let desk = desk(&layer, [Answer::asks("s1")]);
        let which = desk.call(first()).await;
        let round = first().after(&which, &seats(2));
        desk.lose(round.clone()).await;
        let answer = desk.call(round.clone()).await;
        assert_eq!(answer.code(), Some(codes::UNKNOWN));
        let (handle, key) = (layer.handle(), first().key());
        let is_settled = if did_run {
            handle.settle_as_done(None, &key, booked()).await.unwrap()
        } else {
            handle.settle_as_not_run(None, &key).await.unwrap()
        };
        assert!(is_settled);
        let first_round = desk.call(first()).await;
        assert_eq!(first_round, which.replayed(), "it is as it was");
        if did_run {
            assert_eq!(desk.call(round).await, booked().replayed());
            assert_eq!(desk.runs(), 2);
        } else {
            desk.lose(round).await;
            assert_eq!(desk.runs(), 3);
        }
    }
}

#[tokio::test]
async fn a_round_that_is_settled_with_a_question_goes_on() {
    let layer = IdempotencyLayer::new();
    let asking = desk(&layer, [Answer::asks("s1")]);
    let which = asking.call(first()).await;
    let round = first().after(&which, &seats(2));
    asking.lose(round.clone()).await;
    let settled = layer
        .handle()
        .settle_as_done(None, &first().key(), Answer::asks("s2"))
        .await;
    assert!(settled.unwrap());
    let booking = desk(&layer, [booked()]);
    let sure = booking.call(round).await;
    let last = first().after(&sure, &json!({"sure": true}));
    assert_eq!(booking.call(last).await, booked());
    assert_eq!(booking.states(), [Some("s2".to_owned())]);
}

#[tokio::test]
async fn a_round_can_be_settled_by_the_state_that_its_caller_sends() {
    let layer = IdempotencyLayer::new();
    let polls = desk(&layer, vec![Answer::asks("s1"); 150]);
    let mut call = first();
    for _ in 0..150 {
        let answer = polls.call(call).await;
        call = first().after(&answer, &Value::Null);
    }
    let (handle, key) = (layer.handle(), first().key());
    for round in [call, first().under("of another server", &Value::Null)] {
        let state = round.state.clone().unwrap();
        let settle = async || {
            handle
                .settle_round_as_done(None, &key, &state, booked())
                .await
                .unwrap()
        };
        assert!(!settle().await, "it has not run");
        polls.lose(round.clone()).await;
        let reopened = handle.settle_round_as_not_run(None, &key, &state);
        assert!(reopened.await.unwrap());
        polls.lose(round.clone()).await;
        assert!(settle().await);
        assert_eq!(polls.call(round).await, booked().replayed());
    }
}
