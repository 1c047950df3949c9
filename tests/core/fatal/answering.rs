//! A stack that has shut down and still answers.

use super::{SECOND, cause, gone};
use crate::{
    contract::Unready,
    support::{Answer, Call, Script, Strict},
};
use mcp_resilience::{
    Class,
    fatal::{Fatal, FatalLayer},
};
use std::time::Duration;
use tokio::{task::yield_now, time::timeout};
use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimit};

#[tokio::test(start_paused = true)]
async fn an_answering_layer_stays_ready_and_gives_each_call_the_cause() {
    let layer = FatalLayer::new().answering();
    let tool = Script::new([gone()]);
    let mut stack = layer.layer(Strict::new(tool.clone()));
    let mut clone = stack.clone();
    let first = stack.ready().await.unwrap().call(Call::tool("t")).await;
    assert_eq!(first.unwrap_err().to_string(), "the catalog is gone");

    for case in ["the first", "the second"] {
        for stack in [&mut stack, &mut clone] {
            let ready = timeout(Duration::ZERO, stack.ready()).await;
            let ready = ready.unwrap().expect("it stays ready");
            let failure = ready.call(Call::tool("t")).await.unwrap_err();
            assert_eq!(failure.class(), Class::Fatal, "{case}");
            assert!(
                failure.chain().to_string().ends_with("the catalog is gone"),
                "{case}"
            );
        }
    }
    assert_eq!(tool.calls().len(), 1, "nothing is called any more");
    assert_eq!(
        cause(&layer.handle()).as_deref(),
        Some("the catalog is gone")
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_for_the_inner_service_gets_the_cause() {
    let layer = FatalLayer::new().answering();
    let limited = ConcurrencyLimit::new(Script::new([Ok(Answer::ok("late"))]), 1);
    let mut holder = limited.clone();
    holder.ready().await.unwrap();
    let mut stack = layer.layer(limited);
    let waiting = tokio::spawn(async move {
        let ready = stack.ready().await.expect("it becomes ready");
        ready.call(Call::tool("t")).await
    });
    yield_now().await;
    assert!(!waiting.is_finished(), "open, it waits as ever");
    layer.handle().shut(Fatal::new("the shelf is gone"));

    let failure = timeout(SECOND, waiting).await.unwrap().unwrap();
    let failure = failure.unwrap_err();
    assert_eq!(failure.class(), Class::Fatal);
    assert!(failure.chain().to_string().contains("the shelf is gone"));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_is_one_until_the_stack_is_shut_by_it() {
    for (class, stays_ready) in [(Class::Fatal, true), (Class::Disabled, false)] {
        let layer = FatalLayer::new().answering();
        let mut stack = layer.layer(Unready(class));
        let first = stack.ready().await.map(drop).unwrap_err();
        assert_eq!(first.class(), class);
        let again = stack.ready().await.is_ok();
        assert_eq!(again, stays_ready, "{class}");
    }
}

#[tokio::test(start_paused = true)]
async fn stacks_of_one_layer_shut_together_whether_they_answer_or_refuse() {
    let layer = FatalLayer::new();
    let mut answers = layer.clone().answering().layer(Script::new([]));
    let mut refuses = layer.layer(Script::new([]));
    layer.handle().shut(Fatal::new("the shelf is gone"));
    assert!(refuses.ready().await.is_err());
    let ready = answers.ready().await.expect("it answers");
    let failure = ready.call(Call::tool("t")).await.unwrap_err();
    assert_eq!(failure.class(), Class::Fatal);
}
