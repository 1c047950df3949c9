//! The schema of a line, and that the docs agree with it.

use crate::support::{Answer, Call, Lines, Script, schema};
use mcp_resilience::{
    Class, Delivery, Failure,
    call_log::{CallLogLayer, LINE_SCHEMA},
    failure::Stopped,
};
use serde_json::{Value, json};
use std::panic::catch_unwind;
use tower::{Layer, ServiceExt};

fn read() -> Value {
    serde_json::from_str(LINE_SCHEMA).unwrap()
}

#[test]
fn every_field_is_explained_and_stands_in_the_docs() {
    let docs = include_str!("../../../src/call_log/mod.rs");
    let schema = read();
    for event in ["call", "lines_lost"] {
        let fields = schema["$defs"][event]["properties"].as_object().unwrap();
        for (name, field) in fields {
            let field = if field == true || field.get("description").is_none() {
                &schema["properties"][name]
            } else {
                field
            };
            assert!(field["description"].is_string(), "{name} is not explained");
            assert!(
                docs.contains(&format!("`{name}`")),
                "{name} is not in the docs"
            );
        }
    }
}

#[test]
fn the_names_in_the_schema_are_those_of_the_types() {
    let schema = read();
    let words = |value: &Value| -> Vec<String> {
        let words = value["enum"].as_array().unwrap().iter();
        words
            .map(|word| word.as_str().unwrap().to_owned())
            .collect()
    };
    let classes: Vec<_> = Class::all().map(Class::as_str).collect();
    assert_eq!(words(&schema["$defs"]["class"]), classes);
    let call = &schema["$defs"]["call"]["properties"];
    let deliveries = [
        Delivery::NotSent,
        Delivery::Refused,
        Delivery::Unknown,
        Delivery::Executed,
    ];
    assert_eq!(words(&call["delivery"]), deliveries.map(Delivery::as_str));
    let reasons = [
        Stopped::Attempts,
        Stopped::MayHaveRun,
        Stopped::Window,
        Stopped::Deadline,
        Stopped::HintTooLong,
        Stopped::Budget,
        Stopped::NotReady,
        Stopped::Overridden,
    ];
    assert_eq!(words(&call["retry_stopped"]), reasons.map(Stopped::as_str));
}

async fn line() -> Value {
    let lines = Lines::default();
    let failing = Script::new([Err(Failure::timeout("late").into())]);
    let tools = CallLogLayer::new(lines.clone()).layer(failing);
    let _: Result<Answer, _> = tools.oneshot(Call::tool("t")).await;
    lines.only()
}

#[tokio::test]
async fn a_line_with_a_field_of_another_name_type_or_sense_is_refused() {
    let good = line().await;
    let with = |changes: Value| {
        let mut line = good.clone();
        for (key, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => line.as_object_mut().unwrap().remove(key),
                value => line
                    .as_object_mut()
                    .unwrap()
                    .insert(key.clone(), value.clone()),
            };
        }
        let line = line.to_string();
        catch_unwind(move || schema::line(&line)).is_ok()
    };
    assert!(with(json!({})));
    for wrong in [
        json!({"latency": 3}),
        json!({"latency_ms": "3"}),
        json!({"latency_ms": 1.5}),
        json!({"attempts": 0}),
        json!({"attempts": 2}),
        json!({"outcome": "success"}),
        json!({"outcome": "lost"}),
        json!({"tool": null}),
        json!({"tool": null, "uri": "file:///a"}),
        json!({"class": null}),
        json!({"delivery": null}),
        json!({"is_error": true, "outcome": "cancelled"}),
        json!({"trace_id": "0".repeat(32)}),
        json!({"span_id": "b7ad6b7169203331"}),
        json!({"timestamp": "2026-11-30 10:00"}),
        json!({"event": "lines_lost"}),
        json!({"call_id": 7}),
        json!({"retries": []}),
    ] {
        assert!(!with(wrong.clone()), "{wrong}");
    }
}
