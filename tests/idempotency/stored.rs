//! Which outcomes are kept, and how.

use crate::support::{Answer, Call};
use mcp_resilience::{
    Class, Delivery, Failure,
    classify::ClassifyLayer,
    failure::RpcError,
    idempotency::codes,
    idempotency::{
        Fingerprint, IdempotencyLayer, MemoryStore, RecordId,
        store::{Claim, Claimed, Ending, Store, Value as Stored},
    },
    is_error::IsErrorLayer,
};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tower::{BoxError, ServiceBuilder, ServiceExt};

type Outcome = Result<Answer, Failure>;

/// Calls a tool twice, and says how often it ran.
async fn twice(
    layer: &IdempotencyLayer,
    call: Call,
    end: impl Fn() -> Result<Answer, BoxError> + Clone + Send + Sync + 'static,
) -> (Outcome, Outcome, u32) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let tools = ServiceBuilder::new()
        .layer(layer.clone())
        .layer(IsErrorLayer::new())
        .layer(ClassifyLayer::new())
        .service_fn(move |_: Call| {
            counted.fetch_add(1, Relaxed);
            let end = end();
            async move { end }
        });
    let first = tools.clone().oneshot(call.clone()).await;
    let second = tools.oneshot(call).await;
    (first, second, runs.load(Relaxed))
}

fn call() -> Call {
    Call::keyed("book", "order-1")
}

#[tokio::test]
async fn an_answer_comes_back_field_for_field() {
    let answers = [
        Answer::ok(""),
        Answer::ok("ü\u{0}\n"),
        Answer::flagged("no such seat"),
        Answer {
            structured: Some(json!({"z": [1, 2.5, null], "a": {"b": "c"}})),
            ..Answer::ok("booked")
        },
    ];
    for answer in answers {
        let end = answer.clone();
        let (first, second, runs) =
            twice(&IdempotencyLayer::new(), call(), move || Ok(end.clone())).await;
        assert_eq!(first.unwrap(), answer);
        assert_eq!(second.unwrap(), answer.replayed());
        assert_eq!(runs, 1);
    }
}

#[tokio::test]
async fn a_failure_of_the_tool_is_kept() {
    let failures: [fn() -> Failure; 6] = [
        || Failure::tool("no such seat"),
        || Failure::invalid_input("seat", "expected a number"),
        || Failure::not_found("no such train"),
        || Failure::upstream("the railway failed"),
        || Failure::crash("a bug"),
        || Failure::invalid_output("not JSON"),
    ];
    for failure in failures {
        let (first, second, runs) = twice(&IdempotencyLayer::new(), call(), move || {
            Err(failure().into())
        })
        .await;
        assert_eq!(second.unwrap(), first.unwrap().replayed());
        assert_eq!(runs, 1);
    }
}

#[tokio::test]
async fn an_error_of_the_protocol_is_kept_with_code_message_and_data() {
    let error = || RpcError::new(-32042, "sign in first", Some(json!({"url": "x", "n": [1]})));
    let end = move || {
        Err(Failure::new(Class::Protocol, "")
            .with_rpc_error(error())
            .into())
    };
    let (first, second, runs) = twice(&IdempotencyLayer::new(), call(), end).await;
    for failure in [first.unwrap_err(), second.unwrap_err()] {
        assert_eq!(failure.rpc_error(), Some(&error()));
        assert_eq!(failure.class(), Class::Protocol);
        assert_eq!(failure.delivery(), Delivery::Unknown);
    }
    assert_eq!(runs, 1);
}

#[tokio::test]
async fn a_call_that_did_not_run_is_forgotten() {
    let failures: [fn() -> Failure; 3] = [
        || Failure::rate_limited(Some(Duration::from_secs(9))).before_running(),
        || Failure::tool("closed").with_delivery(Delivery::NotSent),
        || Failure::protocol(-32000, "no", None).before_running(),
    ];
    for failure in failures {
        let (_, _, runs) = twice(&IdempotencyLayer::new(), call(), move || {
            Err(failure().into())
        })
        .await;
        assert_eq!(runs, 2, "{:?}", failure());
    }
}

#[tokio::test]
async fn a_run_whose_outcome_was_not_seen_is_unknown() {
    let failures: [fn() -> Failure; 5] = [
        || Failure::timeout(""),
        || Failure::connection("reset"),
        || Failure::rate_limited(Some(Duration::from_secs(9))),
        || Failure::unavailable(None),
        || Failure::fatal("the catalog is gone"),
    ];
    for failure in failures {
        let end = move || Err(failure().into());
        let (_, second, runs) = twice(&IdempotencyLayer::new(), call(), end).await;
        assert_eq!(second.unwrap().code(), Some(codes::UNKNOWN));
        assert_eq!(runs, 1, "{:?}", failure());
        let end = move || Err(failure().into());
        let (.., runs) = twice(&IdempotencyLayer::new(), call().may_run_twice(), end).await;
        assert_eq!(runs, 2, "it may run twice: {:?}", failure());
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_done_without_it() {
    let layer = IdempotencyLayer::builder(MemoryStore::new())
        .max_outcome(1000)
        .build()
        .unwrap();
    for text in ["x".repeat(1000), "cannot be written".to_owned()] {
        let end = text.clone();
        let call = Call::keyed("book", &format!("key-{}", text.len()));
        let (first, second, runs) = twice(&layer, call, move || Ok(Answer::ok(&end))).await;
        assert_eq!(first.unwrap(), Answer::ok(text));
        let second = second.unwrap();
        assert_eq!(second.code(), Some(codes::NOT_KEPT));
        assert!(
            second.text.contains("It has run; verify"),
            "{}",
            second.text
        );
        assert_eq!(runs, 1);
    }
}

#[tokio::test]
async fn an_outcome_that_cannot_be_read_is_that_of_a_call_that_ran() {
    for value in [
        Stored::new(2, *b"R[\"later\",null,false,false]"),
        Stored::new(1, *b"X"),
        Stored::new(1, *b"Rnonsense"),
        Stored::new(1, *b"F{}"),
    ] {
        let store = MemoryStore::new();
        let record = RecordId::new(None, &call().key());
        let long = Duration::from_secs(600);
        let claim = Claim::new(Fingerprint::of(&call()), long, long);
        assert_eq!(
            store.claim(&record, claim.clone()).await.unwrap(),
            Claimed::Ours
        );
        let done = Ending::Done(value.clone());
        assert!(
            store
                .complete(&record, claim.token, done, long)
                .await
                .unwrap()
        );
        let layer = IdempotencyLayer::with_store(store);
        let (first, _, runs) = twice(&layer, call(), || Ok(Answer::ok(1))).await;
        let first = first.unwrap();
        assert_eq!(
            first.code(),
            Some("idempotency_not_kept"),
            "{value:?}: {first:?}"
        );
        let advice = "It has run; verify before repeating.";
        assert!(first.text.ends_with(advice), "{}", first.text);
        assert_eq!(runs, 0, "and not again");
    }
}

/// By default 256 MiB, so half a million calls.
#[test]
fn a_memory_has_room_for_a_call_in_each_512_bytes_and_takes_no_more() {
    const CALLS: u32 = 1 << 16;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let store = MemoryStore::with_capacity(512 * CALLS as usize);
    let claim = Claim::new(
        Fingerprint::from_bytes([1; 32]),
        Duration::from_secs(30),
        Duration::from_secs(24 * 60 * 60),
    );
    let claimed = async |number: u32| {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&number.to_be_bytes());
        store.claim(&RecordId::from_bytes(id), claim.clone()).await
    };
    let taken = allocation_counter::measure(|| {
        runtime.block_on(async {
            for number in 0..CALLS {
                let claimed = claimed(number).await.unwrap();
                assert_eq!(claimed, Claimed::Ours, "{number}");
            }
        });
    });
    let bytes_each = taken.bytes_current / i64::from(CALLS);
    assert!((1..=512).contains(&bytes_each), "{bytes_each}");
    let error = runtime.block_on(claimed(CALLS)).unwrap_err();
    assert!(error.is_full());
    let text = error.to_string();
    for setting in ["with_capacity", "33554432 bytes", "keep"] {
        assert!(text.contains(setting), "{text}");
    }
    let default = format!("{:?}", MemoryStore::new());
    assert!(default.contains("capacity: 268435456"), "{default}");
}

#[tokio::test(start_paused = true)]
async fn a_full_store_is_told_at_once_and_no_call_runs_without_protection() {
    let layer = IdempotencyLayer::builder(MemoryStore::with_capacity(0));
    let layer = layer.run_unprotected().build().unwrap();
    let begun = tokio::time::Instant::now();
    let (first, second, runs) = twice(&layer, call(), || Ok(Answer::ok(1))).await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    for refused in [first.unwrap(), second.unwrap()] {
        assert_eq!(refused.code(), Some(codes::STORE_FULL));
        let envelope = refused.structured.unwrap();
        assert_eq!(envelope["retryAfter"], 60);
        assert_eq!(envelope["retryable"], true);
        assert!(refused.text.contains("is full"), "{}", refused.text);
        assert!(!refused.text.contains("may have run"), "{}", refused.text);
    }
    assert_eq!(runs, 0);
}

#[tokio::test(start_paused = true)]
async fn a_full_memory_lets_answers_go_and_forgets_no_call() {
    let store = MemoryStore::with_capacity(4000);
    let layer = IdempotencyLayer::with_store(store.clone());
    let keyed = |number: u32| Call::keyed("book", &format!("key-{number}"));
    let end = || Ok(Answer::ok("x".repeat(1000)));
    for number in 0..7 {
        let (first, _, runs) = twice(&layer, keyed(number), end).await;
        assert!(!first.unwrap().is_error, "{number}");
        assert_eq!(runs, 1);
        assert!(store.bytes() <= 4000, "{}", store.bytes());
    }
    let (first, second, runs) = twice(&layer, keyed(7), end).await;
    for refused in [first.unwrap(), second.unwrap()] {
        assert_eq!(refused.code(), Some(codes::STORE_FULL));
    }
    assert_eq!(runs, 0, "there is no room for its claim");
    let (first, _, runs) = twice(&layer, keyed(0), end).await;
    assert_eq!(first.unwrap().code(), Some(codes::NOT_KEPT));
    assert_eq!(runs, 0, "it is still known as done");
    tokio::time::sleep(Duration::from_secs(25 * 60 * 60)).await;
    let (first, _, _) = twice(&layer, keyed(7), end).await;
    assert!(
        !first.unwrap().is_error,
        "after their time there is room again"
    );
}
