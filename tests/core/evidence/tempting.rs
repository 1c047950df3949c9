//! Texts for models about calls that they should not repeat.

use crate::support::{Answer, Call, Script};
use mcp_resilience::{Delivery, Failure, is_error::IsErrorLayer};
use std::time::Duration;
use tower::{Layer, ServiceExt};

async fn text(call: Call, failure: Failure) -> String {
    let tools = IsErrorLayer::new().layer(Script::new([Err(failure.into())]));
    let answer: Answer = tools.oneshot(call).await.unwrap();
    answer.text().to_owned()
}

#[tokio::test]
async fn a_model_is_told_to_verify_what_has_run_or_may_have_run() {
    const HAS: &str = "It has run; verify before repeating.";
    const MAY: &str = "It may have run; verify before repeating.";
    let busy = || Failure::rate_limited(Some(Duration::from_secs(30)));
    let cases = [
        (Failure::invalid_output("it is no JSON"), Some(HAS)),
        (Failure::upstream("bad gateway"), Some(HAS)),
        (Failure::connection("reset by peer"), Some(MAY)),
        (Failure::timeout("no answer"), Some(MAY)),
        (Failure::session_lost("gone"), Some(MAY)),
        (busy(), Some(MAY)),
        (busy().before_running(), None),
        (busy().with_retryable(true), None),
        (
            Failure::connection("refused").with_delivery(Delivery::NotSent),
            None,
        ),
        (Failure::tool("No book titled 'Nothing'."), None),
        (Failure::not_found("no such row"), None),
    ];
    for (failure, said) in cases {
        let shown = format!("{failure:?}");
        let read = text(Call::tool("pay"), failure).await;
        assert_eq!(read.contains(HAS), said == Some(HAS), "{shown}: {read}");
        assert_eq!(read.contains(MAY), said == Some(MAY), "{shown}: {read}");
    }
    for failure in [
        Failure::invalid_output("x"),
        Failure::connection("x"),
        busy(),
    ] {
        let read = text(Call::read_only("get_book"), failure).await;
        assert!(!read.contains("verify"), "a repeat harms nobody: {read}");
    }
}

#[tokio::test]
async fn a_crash_is_reported_under_a_neutral_code() {
    let crash = Failure::crash("index out of range");
    let tools = IsErrorLayer::new().layer(Script::new([Err(crash.into())]));
    let answer = tools.oneshot(Call::tool("pay")).await.unwrap();
    assert_eq!(answer.structured.unwrap()["code"], "internal_error");
}
