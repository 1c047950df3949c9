//! The whole stack, in the preset's order.

mod always_ready;
mod breaker;
mod builder;
mod connect;
mod limits;
mod neighbours;

use crate::support::{Answer, Call, Lines, Script, Strict};
use mcp_resilience::backoff::{Backoff, Jitter};
use mcp_resilience::{Failure, ResilienceLayer, call_log::CallLogLayer, retry::RetryLayer};
use serde_json::json;
use std::time::Duration;
use tower::{Layer, ServiceExt};

fn preset(lines: &Lines) -> ResilienceLayer {
    let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1)).unwrap();
    let retry = RetryLayer::builder()
        .backoff(backoff)
        .jitter(Jitter::none())
        .build()
        .unwrap();
    ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .retry(retry)
        .attempt_timeout(Duration::from_secs(5))
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_coded_refusal_is_waited_out_and_the_line_tells_of_it() {
    let lines = Lines::default();
    let refusal = Answer::envelope(json!({
        "service": "single", "code": "rate_limited", "error": "slow down", "retryAfter": 2,
    }));
    let tool = Script::new([Ok(refusal), Ok(Answer::ok("12.50"))]);
    let stack = preset(&lines).layer(Strict::new(tool.clone()));

    let answer = stack.oneshot(Call::tool("quote_price")).await.unwrap();

    assert_eq!(answer, Answer::ok("12.50"));
    assert_eq!(tool.calls(), [Duration::ZERO, Duration::from_secs(2)]);
    let line = lines.only();
    assert_eq!(line["outcome"], "success");
    assert_eq!(line["level"], "WARN");
    assert_eq!(line["retried"], true);
    assert_eq!(line["attempts"], 2);
    assert_eq!(line["latency_ms"], 2000);
    assert_eq!(line["waited_ms"], 2000);
    assert_eq!(
        line["retries"],
        json!([{"class": "rate_limited", "code": "rate_limited", "wait_ms": 2000}])
    );
}

#[tokio::test(start_paused = true)]
async fn a_crash_shows_the_model_an_id_and_the_log_the_chain_under_it() {
    let lines = Lines::default();
    let error = std::io::Error::other("cannot open /srv/x with password [masked]");
    let tool = Script::new([Err(error.into())]);
    let stack = preset(&lines).layer(Strict::new(tool));

    let answer = stack.oneshot(Call::read_only("get_author")).await.unwrap();

    let line = lines.only();
    let id = line["call_id"].as_str().unwrap();
    assert!(answer.is_error);
    assert_eq!(
        answer.text(),
        format!("Error executing tool get_author (call {id})")
    );
    assert_eq!(line["level"], "ERROR");
    assert_eq!(line["class"], "crash");
    assert_eq!(
        line["error"],
        "failed unexpectedly: cannot open /srv/x with password [masked]"
    );
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_shuts_the_stack_and_wakes_its_waiters() {
    let lines = Lines::default();
    let preset = preset(&lines);
    let ended = tokio::spawn({
        let handle = preset.fatal_handle();
        async move { handle.wait().await.to_string() }
    });
    let tool = Script::new([Err(Failure::fatal("the shelf is gone").into())]);
    let mut stack = preset.layer(Strict::new(tool));

    let failure = stack.ready().await.unwrap();
    let failure = tower::Service::call(failure, Call::tool("shelve"))
        .await
        .unwrap_err();

    assert_eq!(failure.to_string(), "the shelf is gone");
    assert_eq!(failure.rpc_error().unwrap().code, -32603);
    let ended = tokio::time::timeout(Duration::from_secs(1), ended).await;
    assert_eq!(ended.unwrap().unwrap(), "the shelf is gone");
    // A later one is a call too, and has its line.
    let later = stack.ready().await.unwrap();
    let later = tower::Service::call(later, Call::tool("get_author")).await;
    let later = later.unwrap_err().to_string();
    assert_eq!(later, "the tool server is out of service");
    let all = lines.all();
    assert_eq!(all.len(), 2, "{all:#?}");
    for line in all {
        assert_eq!(
            (&line["level"], &line["class"]),
            (&"ERROR".into(), &"fatal".into())
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_of_others_stands_right_inside_the_border() {
    // One call at a time. Other calls are told to try again.
    let lines = Lines::default();
    let retry = RetryLayer::builder().jitter(Jitter::none());
    let layer = ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .retry(retry.build().unwrap())
        .layer_inside(tower::load_shed::LoadShedLayer::new())
        .layer_inside(tower::limit::ConcurrencyLimitLayer::new(1))
        .build()
        .unwrap();
    let slow = || (Duration::from_millis(500), Ok(Answer::ok("fine")));
    let tool = Script::timed([slow(), slow()]);
    let stack = layer.layer(tool.clone());

    let both = ["first", "second"].map(|name| stack.clone().oneshot(Call::tool(name)));
    let [first, second] = both.map(tokio::spawn);

    assert_eq!(first.await.unwrap().unwrap(), Answer::ok("fine"));
    assert_eq!(second.await.unwrap().unwrap(), Answer::ok("fine"));
    assert_eq!(tool.calls(), [Duration::ZERO, Duration::from_secs(1)]);
    let second = lines.all().pop().unwrap();
    assert_eq!(second["retries"][0]["class"], "at_capacity");
}
