//! Random schedules of callers, replicas, crashes and faults, checked against the invariants of
//! each key.
//!
//! `MCP_RESILIENCE_SCHEDULES` says how many there are.

use crate::support::{Answer, Call, Fault, Faulty};
use mcp_resilience::{
    Class, Failure,
    classify::ClassifyLayer,
    idempotency::{IdempotencyLayer, MemoryStore, codes},
    is_error::IsErrorLayer,
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
    time::{Instant, sleep, sleep_until},
};
use tower::{BoxError, ServiceBuilder, ServiceExt, util::BoxCloneSyncService};

const REPLICAS: usize = 2;
const KEYS: usize = 2;
const LEASE: Duration = Duration::from_secs(3);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The tool's behaviour in the calls of one key.
#[derive(Clone, Copy, Debug)]
struct Plan {
    before: u64,
    after: u64,
    refusals: u32,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Answers,
    Fails,
    /// The failure does not say whether it ran.
    TimesOut,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    at: u64,
    deed: Deed,
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    Call {
        replica: usize,
        key: usize,
        is_other: bool,
        gone_after: Option<u64>,
        cancelled_after: Option<u64>,
    },
    Kill(usize),
}

#[derive(Clone, Debug)]
struct Schedule {
    may_run_twice: bool,
    plans: [Plan; KEYS],
    steps: Vec<Step>,
    faults: Vec<Fault>,
}

impl Schedule {
    /// Whether the outcome of a call of this key may get lost.
    fn may_lose(&self, key: usize) -> bool {
        let is_bad = |step: &Step| match step.deed {
            Deed::Kill(_) => true,
            Deed::Call {
                cancelled_after, ..
            } => cancelled_after.is_some(),
        };
        self.plans[key].end == End::TimesOut
            || !self.faults.is_empty()
            || self.steps.iter().any(is_bad)
    }
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let plan = (
        prop_oneof![Just(0), 0..6000u64],
        prop_oneof![Just(0), 0..6000u64],
        prop_oneof![3 => Just(0), 1 => 1..3u32],
        prop_oneof![4 => Just(End::Answers), 1 => Just(End::Fails), 1 => Just(End::TimesOut)],
    );
    let plan = plan.prop_map(|(before, after, refusals, end)| Plan {
        before,
        after,
        refusals,
        end,
    });
    let some = |most: u64| prop_oneof![3 => Just(None), 1 => (0..most).prop_map(Some)];
    let call = (
        0..REPLICAS,
        0..KEYS,
        prop::bool::weighted(0.1),
        some(8000),
        prop_oneof![9 => Just(None), 1 => (0..8000u64).prop_map(Some)],
    );
    let call = call.prop_map(
        |(replica, key, is_other, gone_after, cancelled_after)| Deed::Call {
            replica,
            key,
            is_other,
            gone_after,
            cancelled_after,
        },
    );
    let deed = prop_oneof![5 => call, 1 => (0..REPLICAS).prop_map(Deed::Kill)];
    let steps = prop::collection::vec((0..12_000u64, deed), 1..9);
    let steps = steps.prop_map(|steps| {
        let mut steps: Vec<_> = steps
            .into_iter()
            .map(|(at, deed)| Step { at, deed })
            .collect();
        steps.sort_by_key(|step| step.at);
        steps
    });
    let fault = prop_oneof![
        4 => (0..200u64, 0..200u64).prop_map(|(before, after)| Fault::Slow(before, after)),
        1 => Just(Fault::Before),
        1 => Just(Fault::After),
        1 => Just(Fault::Hang),
    ];
    let faults = prop_oneof![1 => Just(Vec::new()), 1 => prop::collection::vec(fault, 0..12)];
    (any::<bool>(), [plan.clone(), plan], steps, faults).prop_map(
        |(may_run_twice, plans, steps, faults)| Schedule {
            may_run_twice,
            plans,
            steps,
            faults,
        },
    )
}

/// The runs of the tools, and the answers to the callers.
#[derive(Debug, Default)]
struct World {
    effects: HashMap<usize, Vec<u64>>,
    next: u64,
    refused: HashMap<usize, u32>,
    told: Vec<(usize, Told)>,
}

/// How a call ended for its caller.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Value(u64),
    Refused,
    Unknown,
    Conflict,
    InFlight,
    StoreIsAway,
    Cancelled,
    TimedOut,
}

type Shared = Arc<Mutex<World>>;
type Tools = BoxCloneSyncService<Call, Answer, Failure>;

fn replica(store: &Faulty<MemoryStore>, plans: [Plan; KEYS], world: &Shared) -> Tools {
    let layer = IdempotencyLayer::builder(store.clone())
        .lease(LEASE)
        .store_timeout(Duration::from_secs(1))
        .wait(Duration::from_secs(20))
        .build()
        .unwrap();
    let world = Arc::clone(world);
    let tool = move |call: Call| {
        let world = Arc::clone(&world);
        async move {
            let key = usize::try_from(call.arguments["key"].as_u64().unwrap()).unwrap();
            let plan = plans[key];
            sleep(Duration::from_millis(plan.before)).await;
            let number = {
                let mut world = world.lock().unwrap();
                let refused = world.refused.entry(key).or_default();
                if *refused < plan.refusals {
                    *refused += 1;
                    let full = Failure::at_capacity(None).before_running();
                    return Err::<Answer, BoxError>(full.into());
                }
                world.next += 1;
                let number = world.next;
                world.effects.entry(key).or_default().push(number);
                number
            };
            sleep(Duration::from_millis(plan.after)).await;
            match plan.end {
                End::Answers => Ok(Answer::ok(number)),
                End::Fails => Err(Failure::tool(format!("did {number}")).into()),
                End::TimesOut => Err(Failure::timeout("").into()),
            }
        }
    };
    let tools = ServiceBuilder::new()
        .layer(layer)
        .layer(IsErrorLayer::new())
        .layer(ClassifyLayer::new())
        .service_fn(tool);
    BoxCloneSyncService::new(tools)
}

fn call(schedule: &Schedule, key: usize, is_other: bool) -> Call {
    let call = Call::keyed("book", &format!("key-{key}"));
    let call = call.arguments(if is_other {
        json!({"key": key, "other": true})
    } else {
        json!({"key": key})
    });
    if schedule.may_run_twice {
        call.may_run_twice()
    } else {
        call
    }
}

fn read(answer: Result<Answer, Failure>) -> Told {
    let answer = match answer {
        Ok(answer) => answer,
        Err(failure) if failure.class() == Class::Cancelled => return Told::Cancelled,
        Err(failure) => panic!("an error: {failure:?}"),
    };
    if !answer.is_error {
        return Told::Value(answer.text.parse().unwrap());
    }
    if let Some((_, number)) = answer.text.split_once("did ") {
        return Told::Value(number.trim_end_matches('.').parse().unwrap());
    }
    match answer.code() {
        Some("at_capacity") => Told::Refused,
        Some("timeout") => Told::TimedOut,
        Some(codes::UNKNOWN) => {
            assert!(answer.text.contains("may have run"), "{}", answer.text);
            Told::Unknown
        }
        Some(codes::CONFLICT) => Told::Conflict,
        Some(codes::IN_FLIGHT) => Told::InFlight,
        Some("service_unavailable") => Told::StoreIsAway,
        _ => panic!("{answer:?}"),
    }
}

async fn play(schedule: &Schedule) -> Result<(), TestCaseError> {
    let world = Shared::default();
    let store = Faulty::new(MemoryStore::new(), schedule.faults.iter().copied());
    let make = || replica(&store, schedule.plans, &world);
    let mut replicas: Vec<(Tools, JoinSet<()>)> =
        (0..REPLICAS).map(|_| (make(), JoinSet::new())).collect();
    let begun = Instant::now();
    for step in &schedule.steps {
        sleep_until(begun + Duration::from_millis(step.at)).await;
        match step.deed {
            Deed::Kill(replica) => {
                // The layer first: nothing of a process that is killed goes on.
                let (tools, mut calls) =
                    std::mem::replace(&mut replicas[replica], (make(), JoinSet::new()));
                drop(tools);
                calls.shutdown().await;
            }
            Deed::Call {
                replica,
                key,
                is_other,
                gone_after,
                cancelled_after,
            } => {
                let call = call(schedule, key, is_other);
                let (tools, calls) = &mut replicas[replica];
                if let Some(after) = cancelled_after {
                    let cancellation = call.cancellation.clone();
                    calls.spawn(async move {
                        sleep(Duration::from_millis(after)).await;
                        cancellation.cancel();
                    });
                }
                let answer = tools.clone().oneshot(call);
                let world = Arc::clone(&world);
                calls.spawn(async move {
                    let gone = async {
                        match gone_after {
                            Some(after) => sleep(Duration::from_millis(after)).await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        answer = answer => {
                            world.lock().unwrap().told.push((key, read(answer)));
                        }
                        () = gone => {}
                    }
                });
            }
        }
    }
    for (_, calls) in &mut replicas {
        while let Some(ended) = calls.join_next().await {
            ended.unwrap();
        }
    }
    let took = begun.elapsed();
    prop_assert!(took < Duration::from_secs(180), "all calls end: {took:?}");
    // Runs without a caller end, and so do the leases of those that died.
    sleep(Duration::from_secs(120)).await;
    store.heal();
    check(schedule, &world)?;
    let probe = make();
    for key in 0..KEYS {
        let before = world.lock().unwrap().effects.get(&key).cloned();
        let before = before.unwrap_or_default();
        // It may have run with the other arguments.
        let mut told = read(probe.clone().oneshot(call(schedule, key, false)).await);
        if told == Told::Conflict {
            told = read(probe.clone().oneshot(call(schedule, key, true)).await);
        }
        if before.is_empty() {
            continue;
        }
        match &told {
            Told::Value(number) => prop_assert!(
                before.contains(number) || schedule.may_run_twice,
                "key {key}: {number} is not of {before:?}"
            ),
            Told::Unknown => prop_assert!(schedule.may_lose(key), "key {key} was lost"),
            Told::TimedOut | Told::Refused if schedule.may_run_twice => {}
            other => prop_assert!(false, "key {key} ran, and then: {other:?}"),
        }
    }
    check(schedule, &world)?;
    // Nothing is kept for ever.
    sleep(DAY + DAY).await;
    let before = world.lock().unwrap().effects.clone();
    for key in 0..KEYS {
        let answer = probe.clone().oneshot(call(schedule, key, false)).await;
        let told = read(answer);
        let count = |effects: &HashMap<usize, Vec<u64>>| effects.get(&key).map_or(0, Vec::len);
        let after = count(&world.lock().unwrap().effects);
        let expected = count(&before) + usize::from(told != Told::Refused);
        prop_assert_eq!(after, expected, "key {} after two days: {:?}", key, told);
    }
    Ok(())
}

/// No key has two effects, every answer is that of the one run, and what is lost is called unknown.
fn check(schedule: &Schedule, world: &Shared) -> Result<(), TestCaseError> {
    let world = world.lock().unwrap();
    for key in 0..KEYS {
        let effects = world.effects.get(&key).map_or(&[][..], Vec::as_slice);
        prop_assert!(
            effects.len() <= 1 || schedule.may_run_twice,
            "key {key} has the effects {effects:?}"
        );
        for (_, told) in world.told.iter().filter(|(of, _)| *of == key) {
            match told {
                Told::Value(number) => {
                    prop_assert!(
                        effects.contains(number),
                        "key {key}: {number} of {effects:?}"
                    );
                }
                Told::Unknown => {
                    prop_assert!(schedule.may_lose(key), "key {key}: nothing got lost");
                }
                Told::StoreIsAway => {
                    prop_assert!(!schedule.faults.is_empty(), "key {key}: no fault");
                }
                Told::TimedOut => {
                    prop_assert!(!effects.is_empty(), "key {key}: it ran");
                }
                Told::Refused | Told::Conflict | Told::InFlight | Told::Cancelled => {}
            }
        }
    }
    Ok(())
}

#[test]
fn no_schedule_gives_a_key_two_effects_or_loses_an_answer_in_silence() {
    let schedules_wanted = env::var("MCP_RESILIENCE_SCHEDULES");
    let cases = schedules_wanted.map_or(2_000, |cases| cases.parse().unwrap());
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
