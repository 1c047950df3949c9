//! A panic anywhere in a call is answered and logged once, and the next call works.

use super::{Adapter, OK, Served, Tool, any, flagged, for_the_adapter, success};
use crate::support::{Log, assert_has, retry, settings};
use mcp_resilience::{
    Failure, ResilienceLayer, backoff::Jitter, call_log::CallLogLayer, classify::ClassifyLayer,
    is_error::IsErrorLayer, policy::Policy, retry::RetryBuilder,
};
use serde_json::{Value, json};
use std::{io, iter::Empty, time::Duration};
use tokio::time::Instant;

for_the_adapter! {
    a_panic_of_a_handler_is_flagged_and_the_next_call_works
    a_panic_of_a_rule_is_a_crash_of_the_call
    a_panic_of_a_closure_above_the_border_is_answered_and_logged
    a_panic_of_what_redacts_the_log_masks_it_and_the_call_goes_on
    a_panic_in_the_drop_of_an_attempt_that_took_too_long_changes_no_answer
}

async fn a_panic_of_a_handler_is_flagged_and_the_next_call_works<A: Adapter>() {
    let served = Served::<A>::new(Tool::new(|run| {
        assert_ne!(run, 1, "password hunter2");
        async move {
            assert_ne!(run, 2, "password hunter2");
            Ok(OK)
        }
    }));
    let mut client = served.client().await;
    for at in 0..2 {
        let answer = super::call(&mut client).await;
        let said = flagged(&answer);
        assert!(
            said.starts_with("Error executing tool book (call "),
            "{said}"
        );
        assert!(!answer.to_string().contains("hunter2"), "{answer:#}");
        let lines = served.log.all();
        assert_eq!(lines.len(), at + 1, "one line for each call");
        let wanted = json!({"class": "crash", "level": "ERROR", "attempts": 1});
        assert_has(&lines[at], &wanted);
        let error = lines[at]["error"].as_str().unwrap();
        assert!(error.contains("password [masked]"), "{error}");
    }
    assert_eq!(success(&super::call(&mut client).await), "fine");
    assert_eq!(served.log.all().len(), 3);
}

async fn a_panic_of_a_rule_is_a_crash_of_the_call<A: Adapter>() {
    let classify = ClassifyLayer::new()
        .rule(|_: &io::Error| -> Option<Failure> { panic!("no rule for errors") });
    let served = Served::<A>::classifying(
        Tool::new(async |run| match run {
            1 => Err(any(io::Error::other("disk 4"))),
            _ => Ok(OK),
        }),
        classify,
    );
    let said = served.call().await;
    let said = flagged(&said);
    assert!(
        said.starts_with("Error executing tool book (call "),
        "{said}"
    );
    let line = served.log.only();
    let wanted = json!({"class": "crash", "level": "ERROR", "outcome": "failed"});
    assert_has(&line, &wanted);
    let error = line["error"].as_str().unwrap();
    assert!(error.contains("panicked: no rule for errors"), "{error}");
    assert_eq!(success(&served.call().await), "fine");
}

/// An answer with nothing but an id.
#[track_caller]
fn assert_says_nothing(answer: &Value) {
    let error = &answer["error"];
    assert_eq!(error["code"], -32603, "{answer:#}");
    let id = error["message"].as_str().unwrap();
    let id = id.strip_prefix("internal error (call ");
    let id = id.and_then(|id| id.strip_suffix(')'));
    assert!(id.is_some_and(|id| id.len() == 16), "{answer:#}");
    assert_eq!(error["data"], Value::Null);
}

async fn a_panic_of_a_closure_above_the_border_is_answered_and_logged<A: Adapter>() {
    async fn answered<A: Adapter>(
        tool: Tool<A::Error>,
        preset: impl FnOnce(&Log) -> ResilienceLayer,
    ) {
        let served = Served::<A>::with(tool, preset);
        assert_says_nothing(&served.call().await);
        let wanted = json!({"outcome": "failed", "level": "ERROR"});
        assert_has(&served.log.only(), &wanted);
    }
    let with = |retry: RetryBuilder| {
        move |log: &Log| settings(log).retry(retry.build().unwrap()).build().unwrap()
    };
    let lost = || Tool::failing(|| Failure::connection("").into());
    let refused = || Tool::failing(|| Failure::rate_limited(None).before_running().into());

    let detector = IsErrorLayer::new().detect(|_| panic!("what is this?"));
    let detecting = |log: &Log| settings(log).is_error(detector).build().unwrap();
    answered::<A>(Tool::new(async |_| Ok(OK)), detecting).await;
    let word = retry().repeat_ok(|_| panic!("no word"));
    answered::<A>(lost(), with(word)).await;
    let waits = retry().policy(Policy::new().waits(|| -> Empty<Duration> { panic!("no waits") }));
    answered::<A>(refused(), with(waits)).await;
    let jitter = retry().jitter(Jitter::by(|_| panic!("no dice")));
    answered::<A>(refused(), with(jitter)).await;
}

async fn a_panic_of_what_redacts_the_log_masks_it_and_the_call_goes_on<A: Adapter>() {
    let served = Served::<A>::with(Tool::new(async |_| Ok(OK)), |log| {
        let redacting = CallLogLayer::new(log.clone()).redact(|_| panic!("no ink"));
        settings(log).log(redacting).build().unwrap()
    });
    assert_eq!(success(&served.call().await), "fine");
    let wanted = json!({"tool": "[masked]", "outcome": "success"});
    assert_has(&served.log.only(), &wanted);
}

/// Panics when it is dropped.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

async fn a_panic_in_the_drop_of_an_attempt_that_took_too_long_changes_no_answer<A: Adapter>() {
    let served = Served::<A>::new(Tool::new(async |run| {
        if run == 1 {
            let _fragile = Fragile;
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        Ok(OK)
    }));
    let mut client = served.client().await;
    let begun = Instant::now();
    let answer = super::call(&mut client).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
    let said = flagged(&answer);
    assert!(said.contains("may have run; verify"), "{said}");
    let wanted = json!({"class": "timeout", "attempts": 1});
    assert_has(&served.log.only(), &wanted);
    assert_eq!(success(&super::call(&mut client).await), "fine");
}
