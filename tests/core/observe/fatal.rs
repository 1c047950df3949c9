//! The end of a stack is one event.

use crate::support::{Answer, Call, Script, Seen};
use mcp_resilience::{
    Failure, ResilienceLayer,
    call_log::CallLogLayer,
    fatal::{Fatal, FatalLayer},
};
use tower::{Layer, Service, ServiceExt};

fn gone() -> Script {
    let gone = || Err(Failure::fatal("the catalog is gone").into());
    Script::new([gone(), gone()])
}

#[tokio::test(start_paused = true)]
async fn the_first_fatal_failure_is_told_and_no_later_one() {
    let seen = Seen::new();
    let layer = FatalLayer::new().answering().observer(seen.clone());
    let (mut stack, mut other) = (layer.layer(gone()), layer.layer(gone()));
    for stack in [&mut stack, &mut other] {
        let stack = stack.ready().await.unwrap();
        stack.call(Call::tool("t")).await.unwrap_err();
        stack.call(Call::tool("t")).await.unwrap_err();
    }
    layer.handle().shut(Fatal::new("once more"));
    assert_eq!(seen.lines(), ["0 shut the catalog is gone"]);
}

#[tokio::test(start_paused = true)]
async fn an_end_outside_of_any_call_is_told() {
    let seen = Seen::new();
    let handle = FatalLayer::new().handle();
    // Made before the observer was there.
    let layer = FatalLayer::new();
    let before = layer.handle();
    let _layer = layer.observer(seen.clone());
    before.shut(Fatal::new("the disk is full"));
    handle.shut(Fatal::new("another stack"));
    let expected = "0 shut the tool server is out of service: the disk is full";
    assert_eq!(seen.lines(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn each_stack_that_ends_with_others_tells_its_observer() {
    let fatal = FatalLayer::new();
    let seen = [Seen::new(), Seen::new()];
    let presets = seen.each_ref().map(|seen| {
        ResilienceLayer::builder()
            .log(CallLogLayer::off())
            .fatal(fatal.clone())
            .observer(seen.clone())
            .build()
            .unwrap()
    });
    for preset in &presets {
        let stack = preset.layer(gone());
        assert!(stack.oneshot(Call::tool("t")).await.is_err());
    }
    for seen in seen {
        assert_eq!(seen.lines(), ["0 shut the catalog is gone"]);
    }
    let sound = Script::new([Ok(Answer::ok("fine"))]);
    assert!(
        presets[0]
            .layer(sound)
            .oneshot(Call::tool("t"))
            .await
            .is_err()
    );
}
