//! Calls that wait at the gate, in events and in the log.

use super::{NOW, Server, gated};
use crate::{
    retry::SECOND,
    support::{Call, Lines, Seen},
};
use mcp_resilience::{
    ResilienceLayer, call_log::CallLogLayer, policy::Policy, retry::RetryAfterGate,
};
use serde_json::Value;
use tokio::time::timeout;
use tower::{Layer, ServiceExt};

#[tokio::test(start_paused = true)]
async fn a_held_call_is_told_with_its_wait_and_a_refused_one_with_its_reason() {
    let server = Server::asking([(NOW, 5 * SECOND)]);
    let observer = Seen::new();
    let retry = gated().observer(observer.clone()).retry_window(10 * SECOND);
    let gate = RetryAfterGate::per_tool().pace(6 * SECOND);
    let service = retry.max_attempts(1).retry_after_gate(gate).build();
    let service = service.unwrap().layer(server);
    let call = || service.clone().oneshot(Call::tool("t"));
    call().await.unwrap_err();
    let (held, refused) = tokio::join!(call(), call());
    held.unwrap();
    refused.unwrap_err();
    assert_eq!(
        observer.lines(),
        [
            "0 gave_up t#1 rate_limited attempts",
            "0 call_held t#1 rate_limited 5s",
            "0 gave_up t#1 rate_limited window",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_time_at_the_gate_is_a_wait_in_the_log_also_of_a_call_that_is_dropped_meanwhile() {
    let server = Server::asking([(NOW, 5 * SECOND)]);
    let lines = Lines::default();
    let preset = ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .retry_after_gate(RetryAfterGate::per_tool())
        .policy(Policy::new().max_attempts(1))
        .build();
    let service = preset.unwrap().layer(server);
    let call = || service.clone().oneshot(Call::tool("t"));
    call().await.unwrap();
    timeout(2 * SECOND, call()).await.unwrap_err();
    call().await.unwrap();
    let fields = |line: &Value| {
        ["outcome", "latency_ms", "waited_ms", "held_ms"].map(|field| line[field].to_string())
    };
    let seen: Vec<_> = lines.all().iter().map(fields).collect();
    assert_eq!(
        seen,
        [
            ["\"failed\"", "0", "0", "null"],
            ["\"cancelled\"", "2000", "2000", "2000"],
            ["\"success\"", "3000", "3000", "3000"],
        ]
    );
}
