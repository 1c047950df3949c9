//! Random schedules of calls, hints and drops, checked against the invariants of each call that
//! goes out.

use super::super::{MS, exact};
use crate::support::{Answer, Call, Strict};
use mcp_resilience::{Delivery, Failure, failure::Stopped, retry::RetryAfterGate};
use proptest::prelude::*;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    runtime::Builder,
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use tower::{BoxError, Layer, ServiceExt, service_fn};

const PACE: u64 = 64;
const DOUBLES_EVERY: u64 = 5_000;

/// A call that is made at a time, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Plan {
    at: u64,
    tool: usize,
    window: u64,
    dropped_after: Option<u64>,
}

/// The server's answer to the nth attempt: how long it takes, and how long it asks to wait.
#[derive(Clone, Copy, Debug)]
struct Step {
    takes: u64,
    asks: Option<u64>,
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let plan = (
        0..12_000u64,
        0..2usize,
        prop_oneof![Just(55_000), 100..9_000u64],
        prop_oneof![4 => Just(None), 1 => (0..6_000u64).prop_map(Some)],
    );
    let plan = plan.prop_map(|(at, tool, window, dropped_after)| Plan {
        at,
        tool,
        window,
        dropped_after,
    });
    prop::collection::vec(plan, 1..60)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let asks = prop_oneof![2 => Just(None), 1 => (1..4_000u64).prop_map(Some)];
    let step = (prop_oneof![Just(0), 0..3_000u64], asks);
    let step = step.prop_map(|(takes, asks)| Step { takes, asks });
    prop::collection::vec(step, 1..20)
}

/// In the order in which it happened, with the time in milliseconds.
#[derive(Clone, Copy, Debug)]
enum Seen {
    Sent { at: u64, tool: usize },
    Asked { until: u64, tool: usize },
}

#[derive(Clone, Debug)]
struct History {
    begun: Instant,
    seen: Arc<Mutex<Vec<Seen>>>,
    sent: Arc<Mutex<usize>>,
}

impl History {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap()
    }

    fn add(&self, seen: Seen) {
        self.seen.lock().unwrap().push(seen);
    }

    async fn answer(self, call: Call, steps: Arc<Vec<Step>>) -> Result<Answer, BoxError> {
        let tool = call.name.parse().unwrap();
        self.add(Seen::Sent {
            at: self.now(),
            tool,
        });
        let number = {
            let mut sent = self.sent.lock().unwrap();
            *sent += 1;
            *sent - 1
        };
        let fine = Step {
            takes: 10,
            asks: None,
        };
        let step = steps.get(number).copied().unwrap_or(fine);
        sleep(Duration::from_millis(step.takes)).await;
        let Some(asks) = step.asks else {
            return Ok(Answer::ok("fine"));
        };
        let until = self.now() + asks;
        self.add(Seen::Asked { until, tool });
        let wait = Some(Duration::from_millis(asks));
        Err(Failure::rate_limited(wait).before_running().into())
    }
}

async fn run(plans: Vec<Plan>, steps: Vec<Step>) -> Vec<Seen> {
    let history = History {
        begun: Instant::now(),
        seen: Arc::default(),
        sent: Arc::default(),
    };
    let steps = Arc::new(steps);
    let gate = RetryAfterGate::per_tool().pace(Duration::from_millis(PACE));
    let mut calls = JoinSet::new();
    for plan in plans {
        let (history, steps) = (history.clone(), Arc::clone(&steps));
        let seen = history.clone();
        let server = service_fn(move |call: Call| history.clone().answer(call, Arc::clone(&steps)));
        let retry = exact()
            .max_attempts(2)
            .retry_window(Duration::from_millis(plan.window))
            .retry_after_gate(gate.clone());
        let service = retry.build().unwrap().layer(Strict::new(server));
        calls.spawn(async move {
            sleep_until(seen.begun + Duration::from_millis(plan.at)).await;
            let call = service.oneshot(Call::tool(&plan.tool.to_string()));
            let result = match plan.dropped_after {
                Some(after) => timeout(Duration::from_millis(after), call).await.ok(),
                None => Some(call.await),
            };
            if let Some(Err(failure)) = result {
                has_reason(&failure, plan, seen.now());
            }
        });
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap();
    }
    let seen = history.seen.lock().unwrap();
    seen.clone()
}

fn has_reason(failure: &Failure, plan: Plan, now: u64) {
    assert!(failure.delivery().did_not_run(), "{failure:?}");
    let turn = failure.retry_after().unwrap() + Duration::from_millis(now);
    let ends = Duration::from_millis(plan.at + plan.window);
    match failure.stopped() {
        Some(Stopped::Window) => {
            assert!(turn + MS >= ends, "it would fit: {failure:?} of {plan:?}");
        }
        Some(Stopped::HintTooLong) => {}
        Some(Stopped::Attempts) => assert_eq!(failure.delivery(), Delivery::Refused),
        other => panic!("{other:?}: {failure:?}"),
    }
}

/// No call goes out earlier than asked, or faster than the pace.
fn check(seen: &[Seen]) {
    for tool in 0..2 {
        let (mut opens, mut last) = (None::<u64>, None::<u64>);
        for seen in seen {
            match *seen {
                Seen::Asked { until, tool: of } if of == tool && opens < Some(until) => {
                    opens = Some(until);
                }
                Seen::Sent { at, tool: of } if of == tool => {
                    let Some(opens) = opens else { continue };
                    assert!(at >= opens, "sent at {at}, before {opens}");
                    if let Some(last) = last.filter(|last| *last >= opens) {
                        let pace = PACE >> ((last - opens) / DOUBLES_EVERY).min(63);
                        // Timers go off at whole milliseconds.
                        assert!(
                            at - last + 1 >= pace,
                            "sent at {last} and {at}, pace {pace}"
                        );
                    }
                    last = Some(at);
                }
                Seen::Asked { .. } | Seen::Sent { .. } => {}
            }
        }
    }
}

proptest! {
    #[test]
    fn no_call_goes_out_before_the_hint_nor_faster_than_the_pace(
        (plans, steps) in (plans(), steps())
    ) {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        check(&runtime.unwrap().block_on(run(plans, steps)));
    }
}
