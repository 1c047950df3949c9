//! Each tool has a share of the budget.

use super::SECOND;
use crate::support::{Answer, Call};
use mcp_resilience::{
    Failure, ResilienceLayer,
    backoff::Backoff,
    call_log::CallLogLayer,
    failure::Stopped,
    policy::{Policies, Policy},
    retry::{RetryBuilder, RetryLayer},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::task::JoinSet;
use tower::{Layer, ServiceExt, service_fn};

fn quick() -> RetryBuilder {
    let millisecond = Duration::from_millis(1);
    let backoff = Backoff::new(millisecond, millisecond).unwrap();
    RetryLayer::builder().backoff(backoff)
}

/// How many of this many calls of an always busy tool the budget stops.
async fn stopped(retry: &RetryLayer, name: impl Fn(u32) -> String, calls: u32) -> u32 {
    let mut stopped = 0;
    for number in 0..calls {
        let busy = service_fn(async |_: Call| {
            Err::<Answer, _>(Failure::rate_limited(None).before_running())
        });
        let call = Call::tool(&name(number));
        let failure = retry.layer(busy).oneshot(call).await.unwrap_err();
        stopped += u32::from(failure.stopped() == Some(Stopped::Budget));
    }
    stopped
}

#[tokio::test(start_paused = true)]
async fn a_broken_tool_does_not_stop_the_repeats_of_a_sound_one() {
    // Refused now and then, at the first attempt only; the first of all as well.
    let sound = Arc::new(Mutex::new(HashMap::<u64, u32>::new()));
    let tool = service_fn(move |call: Call| {
        let sound = Arc::clone(&sound);
        async move {
            if call.name == "broken" {
                return Err::<Answer, Failure>(Failure::unavailable(None).before_running());
            }
            let number = call.arguments["number"].as_u64().unwrap();
            let is_first = sound.lock().unwrap().insert(number, 1).is_none();
            if is_first && number.is_multiple_of(6) {
                return Err(Failure::unavailable(None).before_running());
            }
            Ok(Answer::ok("fine"))
        }
    });
    for at_once in [false, true] {
        let layer = ResilienceLayer::builder().log(CallLogLayer::off());
        let stack = layer.build().unwrap().layer(tool.clone());
        let mut calls = JoinSet::new();
        for number in 0..120_u64 {
            for name in ["broken", "sound"] {
                let number = number + 1_000 * u64::from(at_once);
                let call = Call::tool(name).arguments(serde_json::json!({"number": number}));
                let call = stack.clone().oneshot(call);
                if at_once {
                    calls.spawn(async move { (name, call.await.unwrap()) });
                } else {
                    let answer = call.await.unwrap();
                    assert_eq!(answer.is_error, name == "broken", "{number}: {answer:?}");
                }
            }
        }
        for (name, answer) in calls.join_all().await {
            assert_eq!(answer.is_error, name == "broken", "{answer:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_has_five_repeats_of_its_own_when_another_has_emptied_the_budget() {
    let retry = quick().max_attempts(2).build().unwrap();
    let named = |name: &'static str| move |_| name.to_owned();
    assert_eq!(stopped(&retry, named("broken"), 50).await, 40);
    assert_eq!(stopped(&retry, named("other"), 50).await, 45);
    assert_eq!(stopped(&retry, named("third"), 50).await, 45);
    assert_eq!(stopped(&retry, named("other"), 50).await, 50, "used up");
    tokio::time::advance(30 * SECOND).await;
    let again = stopped(&retry, named("broken"), 50).await;
    assert_eq!(again, 40, "time pays what was owed, and fills it up");
}

#[tokio::test(start_paused = true)]
async fn names_without_end_have_no_shares_without_end() {
    let retry = quick().max_attempts(2).build().unwrap();
    let each_its_own = |number: u32| format!("tool-{number}");
    let repeated = 20_000 - stopped(&retry, each_its_own, 20_000).await;
    assert!(repeated < 400, "{repeated}");
}

#[tokio::test(start_paused = true)]
async fn a_policy_may_give_a_tool_a_budget_of_its_own_or_none() {
    let policies = Policies::new()
        .tool("apart", Policy::new().budget(0.0, 2))
        .tool("unlimited", Policy::new().no_budget());
    let retry = quick().max_attempts(2).policies(policies).build().unwrap();
    let named = |name: &'static str| move |_| name.to_owned();
    assert_eq!(stopped(&retry, named("apart"), 50).await, 30);
    assert_eq!(stopped(&retry, named("unlimited"), 50).await, 0);
    assert_eq!(stopped(&retry, named("other"), 50).await, 40, "untouched");
}
