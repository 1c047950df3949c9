//! Checks lines of the call log against the schema that ships with the crate.

use jsonschema::Validator;
use mcp_resilience::call_log::LINE_SCHEMA;
use serde_json::Value;
use std::{collections::BTreeSet, sync::LazyLock};

/// The most that a line may have.
const LINE_LIMIT: usize = 16 * 1024;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(LINE_SCHEMA).unwrap());

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&SCHEMA).unwrap());

/// The members that the schema knows, by the kind of the line. Other members are not fields.
static KNOWN: LazyLock<[(&str, BTreeSet<&str>); 2]> = LazyLock::new(|| {
    ["call", "lines_lost"].map(|event| {
        let members = SCHEMA["$defs"][event]["properties"].as_object().unwrap();
        (event, members.keys().map(String::as_str).collect())
    })
});

/// A line that is as the schema says; any other fails the test.
#[track_caller]
pub(crate) fn line(text: &str) -> Value {
    assert!(text.len() <= LINE_LIMIT, "{} bytes: {text}", text.len());
    let is_control = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    assert!(!text.contains(is_control), "not one line: {text:?}");
    let value: Value = serde_json::from_str(text)
        .unwrap_or_else(|error| panic!("a line that is no JSON ({error}): {text}"));
    let problems: Vec<_> = VALIDATOR
        .iter_errors(&value)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{problems:#?} in {text}");
    let known = KNOWN.iter().find(|(event, _)| value["event"] == *event);
    let (_, known) = known.expect("the schema knows the event");
    for (key, _) in value.as_object().unwrap() {
        assert!(known.contains(key.as_str()), "no field `{key}`: {text}");
    }
    value
}
