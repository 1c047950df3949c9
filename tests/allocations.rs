//! What the layers allocate on the way of success.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

#[path = "../benches/overhead/call.rs"]
mod call;

use allocation_counter::measure;
use call::{Call, Tool};
use mcp_resilience::{ResilienceLayer, call_log::CallLogLayer};
use std::time::Duration;
use tower::{Layer, Service, ServiceExt, service_fn};

#[test]
fn the_preset_with_the_log_off_allocates_only_the_copy_of_the_request() {
    let preset = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .build()
        .unwrap();
    let mut at_once = preset.layer(Tool);
    let mut waited_for = preset.layer(service_fn(async |call: Call| {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Tool.call(call).await
    }));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let request = Call::new();
    let copy = measure(|| drop(request.clone()));
    assert!(
        copy.count_total > 0,
        "a request that costs nothing proves nothing"
    );

    let mut once = |call: Call| {
        measure(|| {
            let answer =
                runtime.block_on(async { at_once.ready().await.unwrap().call(call).await });
            answer.unwrap();
        })
    };
    once(request.clone());
    assert_eq!(once(request.clone()).count_total, copy.count_total);

    let mut later = |call: Call| {
        measure(|| {
            let answer =
                runtime.block_on(async { waited_for.ready().await.unwrap().call(call).await });
            answer.unwrap();
        })
    };
    later(request.clone());
    assert_eq!(later(request.clone()).count_total, copy.count_total);
}
