//! Random schedules of calls that ask for input, checked against the invariants of each round.
//!
//! `MCP_RESILIENCE_SCHEDULES` says how many there are.

use crate::support::{Answer, Call, Fault, Faulty};
use mcp_resilience::{
    Failure,
    idempotency::{IdempotencyLayer, MemoryStore, codes},
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::json;
use std::{
    collections::HashMap,
    env,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    runtime::Builder,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tower::{Layer, ServiceExt, service_fn, util::BoxCloneSyncService};

const KEEP: Duration = Duration::from_secs(600);
const LEASE: Duration = Duration::from_secs(3);

/// The state that the tool issues with its questions.
#[derive(Clone, Copy, Debug)]
enum States {
    None,
    Constant,
    Fresh,
}

#[derive(Clone, Debug)]
struct Schedule {
    states: States,
    /// How long the tool takes, in milliseconds.
    takes: u64,
    /// How long the user takes before each round, in seconds. There is one value for each round.
    pauses: Vec<u64>,
    /// The fault of each attempt, from the first round on. Later attempts have none.
    attempts: Vec<Attempt>,
    /// Rounds that are repeated at the end, each after this many seconds.
    again: Vec<(usize, u64)>,
    faults: Vec<Fault>,
}

#[derive(Clone, Copy, Debug)]
enum Attempt {
    Good,
    /// The caller goes away after this many milliseconds.
    Gone(u64),
    /// The replica dies after this many milliseconds.
    Killed(u64),
    /// Another attempt with the same input runs beside it.
    Twice,
    /// Another input for the same round comes after this many milliseconds.
    Other(u64),
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let attempt = prop_oneof![
        4 => Just(Attempt::Good),
        2 => (0..4000u64).prop_map(Attempt::Gone),
        1 => (0..4000u64).prop_map(Attempt::Killed),
        2 => Just(Attempt::Twice),
        // The claim of the round comes first.
        2 => (4000..8000u64).prop_map(Attempt::Other),
    ];
    let fault = prop_oneof![
        2 => (0..200u64, 0..200u64).prop_map(|(before, after)| Fault::Slow(before, after)),
        1 => Just(Fault::After),
    ];
    let pause = prop_oneof![3 => 0..10u64, 1 => 200..580u64];
    (
        prop_oneof![
            Just(States::None),
            Just(States::Constant),
            Just(States::Fresh)
        ],
        prop_oneof![Just(0), 0..3000u64],
        prop::collection::vec(pause.clone(), 1..6),
        prop::collection::vec(attempt, 0..12),
        prop::collection::vec((0..5usize, pause), 0..6),
        prop::collection::vec(fault, 0..8),
    )
        .prop_map(
            |(states, takes, pauses, attempts, again, faults)| Schedule {
                states,
                takes,
                pauses,
                attempts,
                again,
                faults,
            },
        )
}

/// The runs of each round.
#[derive(Debug, Default)]
struct World {
    runs: HashMap<usize, Vec<Run>>,
}

#[derive(Clone, Debug)]
struct Run {
    begun: Instant,
    ended: Option<Instant>,
}

type Shared = Arc<Mutex<World>>;
type Tools = BoxCloneSyncService<Call, Answer, Failure>;

/// The round is known to the test alone: it is in `_meta`.
fn round_of(call: &Call) -> usize {
    usize::try_from(call.meta["round"].as_u64().unwrap()).unwrap()
}

fn answer(schedule: &Schedule, round: usize) -> Answer {
    if round + 1 == schedule.pauses.len() {
        return Answer::ok(round);
    }
    Answer {
        text: round.to_string(),
        ..match schedule.states {
            States::None => Answer::asks_without_state(),
            States::Constant => Answer::asks("s"),
            States::Fresh => Answer::asks(round),
        }
    }
}

fn replica(store: &Faulty<MemoryStore>, schedule: &Schedule, world: &Shared) -> Tools {
    let layer = IdempotencyLayer::builder(store.clone())
        .lease(LEASE)
        .keep(KEEP)
        .build()
        .unwrap();
    let (world, schedule) = (Arc::clone(world), schedule.clone());
    let tools = layer.layer(service_fn(move |call: Call| {
        let (world, schedule) = (Arc::clone(&world), schedule.clone());
        async move {
            let round = round_of(&call);
            let issued = round
                .checked_sub(1)
                .and_then(|before| answer(&schedule, before).state);
            assert_eq!(call.state, issued, "the tool gets its own state");
            let index = {
                let mut world = world.lock().unwrap();
                let runs = world.runs.entry(round).or_default();
                runs.push(Run {
                    begun: Instant::now(),
                    ended: None,
                });
                runs.len() - 1
            };
            sleep(Duration::from_millis(schedule.takes)).await;
            world.lock().unwrap().runs.get_mut(&round).unwrap()[index].ended = Some(Instant::now());
            Ok::<_, Failure>(answer(&schedule, round))
        }
    }));
    BoxCloneSyncService::new(tools)
}

/// The round after this answer. The input is always the same.
fn call(round: usize, before: Option<&Answer>, input: &str) -> Call {
    let mut call = Call::keyed("book", "order-1");
    call.meta.insert("round".to_owned(), round.into());
    match before {
        Some(before) => call.after(before, &json!({"sure": input})),
        None => call,
    }
}

/// Makes a round until it is answered. `None` if the outcome is unknown.
async fn make(
    schedule: &Schedule,
    tools: &mut (Tools, JoinSet<()>),
    new: &impl Fn() -> Tools,
    attempts: &mut impl Iterator<Item = Attempt>,
    call: &impl Fn(&str) -> Call,
) -> Result<Option<Answer>, TestCaseError> {
    loop {
        let attempt = attempts.next().unwrap_or(Attempt::Good);
        let one = tools.0.clone().oneshot(call("yes"));
        let answer = match attempt {
            Attempt::Good => one.await,
            Attempt::Gone(after) => match timeout(Duration::from_millis(after), one).await {
                Ok(answer) => answer,
                Err(_) => continue,
            },
            Attempt::Killed(after) => {
                tools.1.spawn(async move { drop(one.await) });
                sleep(Duration::from_millis(after)).await;
                let (killed, mut calls) = std::mem::replace(tools, (new(), JoinSet::new()));
                drop(killed);
                calls.shutdown().await;
                continue;
            }
            Attempt::Twice => {
                let (one, other) = tokio::join!(one, tools.0.clone().oneshot(call("yes")));
                let texts = [one.as_ref().unwrap(), other.as_ref().unwrap()];
                prop_assert_eq!(&texts[0].text, &texts[1].text);
                one
            }
            Attempt::Other(after) if call("yes").responses.is_some() => {
                let other = async {
                    sleep(Duration::from_millis(after)).await;
                    tools.0.clone().oneshot(call("no")).await.unwrap()
                };
                let (one, other) = tokio::join!(one, other);
                prop_assert_eq!(other.code(), Some(codes::CONFLICT), "{:?}", other);
                one
            }
            Attempt::Other(_) => continue,
        };
        let answer = answer.unwrap();
        match answer.code() {
            None => return Ok(Some(answer)),
            Some(codes::UNKNOWN) => {
                let may_be_lost = schedule
                    .attempts
                    .iter()
                    .any(|attempt| matches!(attempt, Attempt::Killed(_)));
                prop_assert!(may_be_lost, "nothing was lost");
                return Ok(None);
            }
            other => prop_assert!(false, "{:?}: {:?}", other, answer),
        }
    }
}

async fn play(schedule: &Schedule) -> Result<(), TestCaseError> {
    let world = Shared::default();
    let store = Faulty::new(MemoryStore::new(), schedule.faults.iter().copied());
    let new = || replica(&store, schedule, &world);
    let mut tools = (new(), JoinSet::new());
    let mut attempts = schedule.attempts.iter().copied();
    let mut answers: Vec<Answer> = Vec::new();
    for (round, pause) in schedule.pauses.iter().enumerate() {
        sleep(Duration::from_secs(*pause)).await;
        let before = answers.last().cloned();
        let call = |input: &str| call(round, before.as_ref(), input);
        let Some(answer) = make(schedule, &mut tools, &new, &mut attempts, &call).await? else {
            break;
        };
        prop_assert_eq!(&answer.text, &round.to_string(), "the answer of this round");
        answers.push(answer);
    }
    check(&world)?;
    for (round, pause) in &schedule.again {
        sleep(Duration::from_secs(*pause)).await;
        if *round < answers.len() {
            let before = round.checked_sub(1).map(|before| &answers[before]);
            let again = tools.0.clone().oneshot(call(*round, before, "yes")).await;
            let again = again.unwrap().replayed();
            prop_assert_eq!(again, answers[*round].clone().replayed());
        }
    }
    check(&world)
}

/// No round runs again while its outcome is kept.
fn check(world: &Shared) -> Result<(), TestCaseError> {
    let world = world.lock().unwrap();
    for (round, runs) in &world.runs {
        for pair in runs.windows(2) {
            let known_from = pair[0].ended.unwrap_or(pair[0].begun);
            let apart = pair[1].begun - known_from;
            prop_assert!(apart >= KEEP, "round {}: {:?}", round, runs);
        }
    }
    Ok(())
}

#[test]
fn no_schedule_runs_a_round_twice_or_stops_a_call_on_its_way() {
    let schedules_wanted = env::var("MCP_RESILIENCE_SCHEDULES");
    let cases = schedules_wanted.map_or(3_000, |cases| cases.parse().unwrap());
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let played = TestRunner::new(config).run(&schedules(), |schedule| {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(&schedule))
    });
    if let Err(error) = played {
        panic!("{error}");
    }
}
