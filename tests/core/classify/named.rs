//! Which rule wins.

use super::{failure_of_error, verdict, wrapped};
use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{
    Class, Delivery, Failure, ResilienceLayer,
    call_log::CallLogLayer,
    classify::ClassifyLayer,
    failure::{BoxError, RpcError},
};
use std::{
    error::Error,
    io,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    sync::{Arc, Mutex},
    time::Duration,
};
use tower::{Layer, ServiceExt, service_fn, timeout::error::Elapsed};

#[tokio::test]
async fn rules_are_not_asked_behind_a_failure_that_has_a_name() {
    let disk = || io::Error::other("the disk is full");
    let named = || Failure::tool("cannot save").because(disk());
    let crashed = || Failure::crash(disk());
    let cases: [(&str, BoxError, Class, u32); 6] = [
        ("a failure", named().into(), Class::Tool, 0),
        ("a wrapped one", wrapped(named()), Class::Tool, 0),
        (
            "inside io",
            io::Error::other(named()).into(),
            Class::Fatal,
            1,
        ),
        ("one without a name", crashed().into(), Class::Fatal, 1),
        ("the same, wrapped", wrapped(crashed()), Class::Fatal, 1),
        ("no failure at all", wrapped(disk()), Class::Fatal, 1),
    ];
    for (case, error, class, expected) in cases {
        let asked = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&asked);
        let layer = ClassifyLayer::new().rule(move |_: &io::Error| {
            counted.fetch_add(1, Relaxed);
            Some(Failure::fatal("the disk is gone"))
        });
        assert_eq!(layer.classify(error).class(), class, "{case}");
        assert_eq!(asked.load(Relaxed), expected, "{case}");
    }
}

#[derive(Debug, thiserror::Error)]
#[error("pool exhausted")]
struct PoolExhausted;

#[tokio::test]
async fn an_error_outside_of_any_call_is_named_as_the_layer_does() {
    let layer = ClassifyLayer::new()
        .rule(|_: &PoolExhausted| Some(Failure::at_capacity(None).before_running()));
    let limited = || RpcError::new(-32023, "slow", Some(serde_json::json!({"retryAfter": 9})));
    let cases: [(fn() -> BoxError, Class); 5] = [
        (|| wrapped(PoolExhausted), Class::AtCapacity),
        (|| Elapsed::new().into(), Class::Timeout),
        (
            || io::Error::from(io::ErrorKind::BrokenPipe).into(),
            Class::Connection,
        ),
        (
            || Failure::blocked("x").with_code("E17").into(),
            Class::Blocked,
        ),
        (|| "a bug".into(), Class::Crash),
    ];
    for (error, class) in cases {
        let named = layer.classify(error());
        let tools = layer.layer(Script::new([Err(error())]));
        let by_layer = tools.oneshot(Call::tool("t")).await.unwrap_err();
        assert_eq!(named.class(), class);
        assert_eq!(verdict(&named), verdict(&by_layer), "{class}");
        assert_eq!(named.code(), by_layer.code(), "{class}");
        assert_eq!(named.chain().to_string(), by_layer.chain().to_string());
    }
    let named = layer.classify(limited());
    let expected = (
        Class::RateLimited,
        Delivery::Refused,
        Some(Duration::from_secs(9)),
        None,
    );
    assert_eq!(verdict(&named), expected);
    assert_eq!(named.rpc_error(), Some(&limited()));
    let named = layer.classify(PoolExhausted);
    assert_eq!(named.source().unwrap().to_string(), "pool exhausted");
}

#[tokio::test]
async fn a_json_rpc_error_that_somebody_wrapped_does_not_tell_of_this_call() {
    for (code, message, class) in [
        (-32600, "Session not found", Class::SessionLost),
        (-32602, "Invalid params", Class::InvalidInput),
        (-32601, "Method not found", Class::Protocol),
    ] {
        let error = RpcError::new(code, message, None);
        let bare = failure_of_error(error.clone()).await;
        assert_eq!((bare.class(), bare.delivery()), (class, Delivery::Unknown));
        for wrapped in [wrapped(error.clone()), io::Error::other(error).into()] {
            let failure = failure_of_error(wrapped).await;
            assert_eq!(failure.class(), class, "{message}");
            assert_eq!(failure.delivery(), Delivery::Unknown, "{message}");
        }
    }
}

/// A tool that uses a stack of its own, and may wrap its failure.
async fn through_an_inner_stack(wrap: fn(Failure) -> BoxError) {
    let inner = ResilienceLayer::builder().log(CallLogLayer::off()).build();
    let inner = inner.unwrap();
    let inner_end = inner.fatal_handle();
    let gone = Err(Failure::fatal("the shelf is gone").into());
    let inner = inner.layer(Script::new([gone]));
    let tool = service_fn(move |call: Call| {
        let inner = inner.clone();
        async move { inner.oneshot(call).await.map_err(wrap) }
    });
    let lines = Lines::default();
    let log = CallLogLayer::new(lines.clone());
    let outer = ResilienceLayer::builder().log(log).build().unwrap();
    let stack = outer.layer(tool);

    // The one that ends the inner stack, and one that finds it shut.
    for _ in 0..2 {
        let answer: Result<Answer, Failure> = stack.clone().oneshot(Call::tool("shelve")).await;
        let class = answer.map_or_else(|failure| failure.class(), |_| Class::Disabled);
        assert_eq!(class, Class::Disabled);
    }
    assert_eq!(inner_end.cause().unwrap().to_string(), "the shelf is gone");
    assert!(outer.fatal_handle().cause().is_none(), "this one goes on");
    let classes: Vec<_> = lines
        .all()
        .iter()
        .map(|line| line["class"].clone())
        .collect();
    assert_eq!(classes, ["disabled", "disabled"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_stack_within_a_tool_disables_the_tool_and_not_the_stack_around_it() {
    through_an_inner_stack(BoxError::from).await;
    through_an_inner_stack(|failure| wrapped(failure)).await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_says_itself_that_all_is_lost_ends_the_stack_also_from_within_an_error() {
    for error in [
        Failure::fatal("the shelf is gone").into(),
        wrapped(Failure::fatal("the shelf is gone")),
    ] {
        let layer = ResilienceLayer::builder().log(CallLogLayer::off()).build();
        let layer = layer.unwrap();
        let slot = Mutex::new(Some(error));
        let step = slot.lock().unwrap().take().unwrap();
        let stack = layer.layer(Script::new([Err(step)]));
        let failure = stack.oneshot(Call::tool("shelve")).await.unwrap_err();
        assert_eq!(failure.class(), Class::Fatal);
        assert!(layer.fatal_handle().cause().is_some());
    }
}
