//! State that the clones of one server share.

use super::{Adapter, OK, Served, Tool, call, flagged, for_the_adapter, success};
use crate::support::{assert_has, retry, settings};
use mcp_resilience::{Failure, backoff::Backoff};
use serde_json::json;
use std::time::Duration;

for_the_adapter! {
    clones_share_the_budget_and_the_log
    a_fatal_failure_shuts_all_clones
}

async fn clones_share_the_budget_and_the_log<A: Adapter>() {
    let refused = Tool::failing(|| Failure::rate_limited(None).before_running().into());
    // Waits that take no time, and ten repeats for all.
    let served = Served::<A>::with(refused, |log| {
        let at_once = Backoff::new(Duration::from_millis(1), Duration::from_millis(1)).unwrap();
        let retry = retry().backoff(at_once).budget(0.0, 1).build().unwrap();
        settings(log).retry(retry).build().unwrap()
    });
    let mut first = served.client().await;
    for _ in 0..5 {
        flagged(&call(&mut first).await);
    }
    assert_eq!(served.runs.so_far(), 15, "ten repeats");
    let mut second = served.client().await;
    flagged(&call(&mut second).await);
    assert_eq!(served.runs.so_far(), 16, "none is left");
    let lines = served.log.all();
    assert_eq!(lines.len(), 6, "one line for each call");
    let wanted = json!({"retry_stopped": "budget", "attempts": 1});
    assert_has(&lines[5], &wanted);
}

async fn a_fatal_failure_shuts_all_clones<A: Adapter>() {
    let tool = Tool::new(async |run| match run {
        2 => Err(Failure::fatal("the shelf is gone").into()),
        _ => Ok(OK),
    });
    let mut fatal = None;
    let served = Served::<A>::with(tool, |log| {
        let preset = settings(log).build().unwrap();
        fatal = Some(preset.fatal_handle());
        preset
    });
    let fatal = fatal.unwrap();
    let (mut first, mut second) = (served.client().await, served.client().await);
    assert_eq!(success(&call(&mut second).await), "fine");
    assert!(fatal.cause().is_none());

    let answer = call(&mut first).await;
    assert!(answer["error"].is_object(), "{answer:#}");
    let refused = call(&mut second).await;
    let wanted = json!({"code": -32603, "message": "the tool server is out of service"});
    assert_eq!(refused["error"], wanted);
    assert_eq!(fatal.wait().await.to_string(), "the shelf is gone");
    assert_eq!(served.runs.so_far(), 2);
    // A call that is refused is a call too.
    let lines = served.log.all();
    assert_eq!(lines.len(), 3);
    assert_has(&lines[2], &json!({"class": "fatal", "level": "ERROR"}));
}
