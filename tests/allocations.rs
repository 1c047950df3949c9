//! The allocations of the layers for a call that succeeds.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

#[allow(dead_code, reason = "the benchmarks use the rest")]
#[path = "../benches/support/call.rs"]
mod call;
#[cfg(feature = "rmcp")]
#[path = "allocations/progress.rs"]
mod progress;

use allocation_counter::measure;
use call::{Answer, Call, Kind, Tool};
use mcp_resilience::{
    Failure, ResilienceLayer,
    call_log::{CallLogLayer, Record},
};
use std::{
    pin::Pin,
    task::{Context, Waker},
    time::Duration,
};
use tower::{Layer, Service, service_fn};

#[test]
fn the_preset_with_the_log_off_allocates_the_copy_of_the_request_and_the_timer_of_one_that_waits() {
    let preset = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .build()
        .unwrap();
    let mut at_once = preset.layer(tool());
    let mut waited_for = preset.layer(service_fn(later));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    let request = Call::new();
    let copy = measure(|| drop(request.clone())).count_total;
    assert!(copy > 0, "a request that costs nothing proves nothing");

    let mut bare = tool();
    let counted = |service: &mut dyn FnMut(Call) -> Answering| {
        let call = request.clone();
        // What is made once is made before it counts.
        runtime.block_on(service(request.clone()));
        measure(|| runtime.block_on(service(call))).count_total
    };
    let alone = counted(&mut |call| Box::pin(answered(readied(&mut bare).call(call))));
    let wrapped = counted(&mut |call| Box::pin(answered(readied(&mut at_once).call(call))));
    assert_eq!(wrapped, alone + copy, "answered at once");

    let mut bare = service_fn(later);
    let alone = counted(&mut |call| Box::pin(answered(readied(&mut bare).call(call))));
    let wrapped = counted(&mut |call| Box::pin(answered(readied(&mut waited_for).call(call))));
    assert_eq!(wrapped, alone + copy + 1, "waited for");
}

#[test]
fn a_line_of_the_log_allocates_five_times() {
    let rendered = |record: &Record<'_>| {
        std::hint::black_box(record.to_json());
    };
    let allocated = |log: CallLogLayer| {
        let layer = ResilienceLayer::builder().log(log).build().unwrap();
        let mut stack = layer.layer(tool());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let mut call = |request| runtime.block_on(answered(readied(&mut stack).call(request)));
        // What is made once is made before it counts.
        call(Call::new());
        let request = Call::new();
        measure(|| call(request)).count_total
    };
    let line = allocated(CallLogLayer::new(rendered)) - allocated(CallLogLayer::off());
    assert_eq!(line, 5);
}

#[test]
fn the_future_of_a_call_through_the_preset_is_small() {
    let preset = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .build()
        .unwrap();
    // A service without a size, and a future of two words.
    let mut stack = preset.layer(service_fn(|call| tool().call(call)));
    let size = size_of_val(&readied(&mut stack).call(Call::new()));
    assert_eq!(size, 320);
}

fn tool() -> Tool {
    Tool::new(Kind::Text)
}

fn readied<S: Service<Call>>(service: &mut S) -> &mut S {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut cx).is_ready());
    service
}

type Answering = Pin<Box<dyn Future<Output = ()>>>;

async fn answered<E: std::fmt::Debug>(answer: impl Future<Output = Result<Answer, E>>) {
    answer.await.unwrap();
}

async fn later(call: Call) -> Result<Answer, Failure> {
    tokio::time::sleep(Duration::from_millis(1)).await;
    tool().call(call).await
}
