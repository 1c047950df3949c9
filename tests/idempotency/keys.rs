//! Where a key is found, which keys are invalid, and to which identity they belong.

use crate::support::{Answer, Call};
use mcp_resilience::{
    Failure,
    call::{IdempotencyKey, InvalidKey, KEY_META},
    idempotency::{Idempotency, IdempotencyLayer, MemoryStore, codes},
};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};
use tower::{Layer, Service, ServiceExt, service_fn};

/// Answers with the number of its run.
fn counted(
    layer: &IdempotencyLayer,
) -> impl Service<Call, Response = Answer, Error = Failure, Future: Send> + Clone + use<> {
    let runs = Arc::new(AtomicU32::new(0));
    layer.layer(service_fn(move |_: Call| {
        let run = runs.fetch_add(1, Relaxed) + 1;
        async move { Ok::<_, Failure>(Answer::ok(run)) }
    }))
}

fn with_meta(members: &Value) -> Call {
    let meta = members.as_object().unwrap().clone();
    let call = Call::new("book");
    Call { meta, ..call }
}

#[tokio::test]
async fn a_key_is_found_under_each_of_its_names() {
    let tools = counted(&IdempotencyLayer::new());
    for call in [
        with_meta(&json!({KEY_META: "order-1"})),
        with_meta(&json!({"idempotencyKey": "order-1"})),
        with_meta(&json!({"progressToken": 1, "idempotency-key": "order-1"})),
        with_meta(&json!({"idempotency_key": "order-1"})),
        with_meta(&json!({KEY_META: "order-1", "idempotencyKey": "another"})),
    ] {
        let answer = tools.clone().oneshot(call.clone()).await.unwrap();
        assert_eq!(answer.text, "1", "{:?}", call.meta);
    }
    let in_arguments = json!({"meta": {"idempotency_key": "order-2"}});
    for _ in 0..2 {
        let call = Call::new("book").arguments(in_arguments.clone());
        let answer = tools.clone().oneshot(call).await.unwrap();
        assert_eq!(answer.text, "2", "in an argument `meta`");
    }
}

#[tokio::test]
async fn an_argument_is_a_key_where_the_user_says_so() {
    let layer = IdempotencyLayer::builder(MemoryStore::new())
        .argument("pay", "payment.reference")
        .build()
        .unwrap();
    let tools = counted(&layer);
    let arguments = json!({"payment": {"reference": "inv-7"}});
    let pay = Call::new("pay").arguments(arguments.clone());
    for _ in 0..2 {
        let answer = tools.clone().oneshot(pay.clone()).await.unwrap();
        assert_eq!(answer.text, "1");
    }
    let other = Call::new("refund").arguments(arguments);
    let answer = tools.clone().oneshot(other).await.unwrap();
    assert_eq!(answer.text, "2", "of this tool nobody said so");
    for no_key in [json!({}), json!({"payment": {"reference": null}})] {
        let call = Call::new("pay").arguments(no_key);
        let answer = tools.clone().oneshot(call).await.unwrap();
        assert!(!answer.is_error, "{answer:?}");
    }
}

#[tokio::test]
async fn an_invalid_key_is_refused_before_anything_runs() {
    let tools = counted(&IdempotencyLayer::new());
    let long = "k".repeat(256);
    let too_long = "it has 256 bytes";
    for (key, problem) in [
        (json!(""), "it is empty"),
        (json!(long), too_long),
        (json!("order 1"), "visible ASCII"),
        (json!("order\n1"), "visible ASCII"),
        (json!("bücher"), "visible ASCII"),
        (json!(7), "it is not a string"),
        (json!(null), "it is not a string"),
        (json!({"key": "order-1"}), "it is not a string"),
    ] {
        for name in [KEY_META, "idempotencyKey"] {
            let call = with_meta(&json!({name: key}));
            let answer = tools.clone().oneshot(call).await.unwrap();
            assert_eq!(answer.code(), Some(codes::INVALID_KEY), "{name}: {key}");
            assert!(answer.text.contains(problem), "{}", answer.text);
        }
    }
    let answer = tools.clone().oneshot(Call::new("book")).await.unwrap();
    assert_eq!(answer.text, "1", "nothing ran before");
    let longest = with_meta(&json!({KEY_META: "k".repeat(255)}));
    assert_eq!(tools.oneshot(longest).await.unwrap().text, "2");
}

#[test]
fn a_random_key_is_a_key_of_128_bits() {
    let [one, other] = [IdempotencyKey::random(), IdempotencyKey::random()];
    assert_ne!(one, other);
    assert_eq!(one.as_str().len(), 32);
    assert_eq!(IdempotencyKey::new(one.as_str()), Ok(one));
    assert_eq!(
        "a b".parse::<IdempotencyKey>(),
        Err(InvalidKey::NotVisibleAscii)
    );
}

#[test]
fn a_key_is_not_shown() {
    let key = IdempotencyKey::new("order-123").unwrap();
    assert_eq!(format!("{key:?}"), "IdempotencyKey(9 bytes)");
}

#[tokio::test]
async fn a_tool_that_wants_a_key_does_not_run_without_one() {
    let layer = IdempotencyLayer::builder(MemoryStore::new())
        .require_key("book")
        .build()
        .unwrap();
    let tools = counted(&layer);
    let answer = tools.clone().oneshot(Call::new("book")).await.unwrap();
    assert_eq!(answer.code(), Some(codes::KEY_REQUIRED));
    assert!(answer.text.contains(KEY_META), "{}", answer.text);
    let answer = tools.clone().oneshot(Call::new("list")).await.unwrap();
    assert_eq!(answer.text, "1", "another tool needs none");
    let answer = tools.oneshot(Call::keyed("book", "k")).await.unwrap();
    assert_eq!(answer.text, "2");
}

#[tokio::test]
async fn another_identity_gets_neither_the_answer_nor_a_hint() {
    let tools = counted(&IdempotencyLayer::new());
    let call = Call::keyed("book", "order-1");
    let first = call.clone().by(b"Bearer one");
    let first = tools.clone().oneshot(first).await.unwrap();
    assert_eq!(first, Answer::ok(1));
    // Other arguments would be a conflict, if the key were known.
    let other = call.clone().by(b"Bearer two").arguments(json!({"seat": 2}));
    let second = tools.clone().oneshot(other).await.unwrap();
    assert_eq!(second, Answer::ok(2), "as if the key were new");
    let nobody = tools.clone().oneshot(call.clone()).await.unwrap();
    assert_eq!(nobody, Answer::ok(3));
    let empty = tools.clone().oneshot(call.clone().by(b"")).await.unwrap();
    assert_eq!(empty, Answer::ok(4));
    let again = tools.oneshot(call.by(b"Bearer one")).await.unwrap();
    assert_eq!(again, Answer::ok(1).replayed());
}

#[tokio::test]
async fn the_user_says_whose_keys_they_are() {
    let layer = IdempotencyLayer::builder(MemoryStore::new())
        .scope(|call| Some(call.name().as_bytes().to_vec()))
        .build()
        .unwrap();
    let tools = counted(&layer);
    let call = Call::keyed("book", "order-1");
    let one = tools
        .clone()
        .oneshot(call.clone().by(b"one"))
        .await
        .unwrap();
    let two = tools.oneshot(call.by(b"two")).await.unwrap();
    assert_eq!((one, two), (Answer::ok(1), Answer::ok(1).replayed()));
}

#[tokio::test]
async fn arguments_are_compared_as_json() {
    let same = [
        json!({"a": 1, "b": [true, null, "ü"], "c": {"x": 1.5, "y": 2}}),
        serde_json::from_str(r#" {"c":{"y":2.0,"x":15e-1},"b":[true,null,"\u00fc"],"a":1} "#)
            .unwrap(),
        json!({"a": 1.0, "c": {"y": 2, "x": 1.5}, "b": [true, null, "ü"]}),
    ];
    let other = [
        json!({"a": 1, "b": [true, null, "ü"], "c": {"x": 1.5, "y": 3}}),
        json!({"a": "1", "b": [true, null, "ü"], "c": {"x": 1.5, "y": 2}}),
        json!({"a": 1, "b": [null, true, "ü"], "c": {"x": 1.5, "y": 2}}),
        json!({"a": 1, "b": [true, null, "ü"], "c": {"x": 1.5, "y": 2}, "d": null}),
        json!({"a": 1, "b": [true, null, "ü", []], "c": {"x": 1.5, "y": 2}}),
        json!({}),
    ];
    let tools = counted(&IdempotencyLayer::new());
    for arguments in same {
        let call = Call::keyed("book", "order-1").arguments(arguments.clone());
        let answer = tools.clone().oneshot(call).await.unwrap();
        assert_eq!(answer.text, "1", "{arguments}");
    }
    for arguments in other {
        let call = Call::keyed("book", "order-1").arguments(arguments.clone());
        let answer = tools.clone().oneshot(call).await.unwrap();
        assert_eq!(answer.code(), Some(codes::CONFLICT), "{arguments}");
    }
    let other_tool = Call::keyed("cancel", "order-1").arguments(json!({"a": 1}));
    let answer = tools.clone().oneshot(other_tool).await.unwrap();
    assert_eq!(answer.code(), Some(codes::CONFLICT));
    let large = |number: u64| {
        let call = Call::keyed("book", "order-2");
        call.arguments(json!({"id": number}))
    };
    let answer = tools.clone().oneshot(large(u64::MAX)).await.unwrap();
    assert_eq!(answer.text, "2");
    let answer = tools.oneshot(large(u64::MAX - 1)).await.unwrap();
    assert_eq!(answer.code(), Some(codes::CONFLICT), "digit for digit");
}

#[tokio::test]
async fn the_constructor_keeps_outcomes_too() {
    let mut tools = Idempotency::new(service_fn(async |_: Call| Ok::<_, Failure>(Answer::ok(1))));
    let call = Call::keyed("book", "order-1");
    tools
        .ready()
        .await
        .unwrap()
        .call(call.clone())
        .await
        .unwrap();
    let again = tools.ready().await.unwrap().call(call).await.unwrap();
    assert!(again.is_replayed);
}
