//! Observed answers of servers and SDKs to a failed call, and the stack's reading of each.
//!
//! One JSON file for each shape. If a shape is known only from a description, its messages are
//! invented. Some files belong to no server and show where a rule ends.
//!
//! To add one, copy a similar file; see `case.rs` for the keys. Each file is read as JSON, by
//! rmcp's own types (feature `rmcp`), and from a server over HTTP (feature `rmcp-client-http`).
//! Only the last reads files that are an HTTP answer.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

mod answer;
mod case;
#[cfg(feature = "rmcp-client-http")]
mod http;
#[cfg(feature = "rmcp")]
mod rmcp;
#[path = "../schema/mod.rs"]
mod schema;
mod stack;
mod typed;

use case::{Case, Expected, Input};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The files with the name that each is known by.
fn files() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "json") {
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                found.push((name, path));
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn every_shape_that_was_seen_is_understood() {
    let mut wrong = Vec::new();
    let files = files();
    assert!(files.len() > 100, "the corpus is there: {}", files.len());
    for (name, path) in files {
        match Case::parse(&fs::read_to_string(path).unwrap()) {
            Ok(case) => {
                let found = check(&case).await;
                wrong.extend(found.into_iter().map(|said| format!("{name}: {said}")));
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The differences, with the reader that sees each.
async fn check(case: &Case) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut compare = |reader: &str, seen: Vec<Result<(), String>>| {
        let seen = seen.into_iter().filter_map(Result::err);
        wrong.extend(seen.map(|said| format!("{reader}: {said}")));
    };
    match &case.input {
        Input::Result(result) => compare("as JSON", stack::result(case, result).await),
        Input::Error(error) => compare("as JSON", stack::error(case, error).await),
        Input::Typed(name) => compare("as it is", typed::check(case, name).await),
        Input::Http(answer) if (200..600).contains(&answer.status) => {}
        Input::Http(_) => compare("the file", vec![Err("it has no status".to_owned())]),
    }
    #[cfg(feature = "rmcp")]
    match &case.input {
        Input::Result(result) => compare("by rmcp's types", rmcp::result(case, result).await),
        Input::Error(error) => compare("by rmcp's types", rmcp::error(case, error).await),
        _ => {}
    }
    #[cfg(feature = "rmcp-client-http")]
    compare("over HTTP", http::check(case).await);
    wrong
}

#[test]
fn a_file_that_says_too_much_or_too_little_is_refused() {
    let whole = r#"{
        "seen": "nowhere",
        "input": {"result": {"content": [], "isError": true}},
        "expect": {"outcome": "failure", "class": "tool", "code": null, "delivery": "executed",
                   "repeated": "never", "wait_ms": null, "why": "nothing is known of it"}
    }"#;
    Case::parse(whole).unwrap();
    #[rustfmt::skip]
    let changes = [
        (r#""seen": "nowhere","#, ""),
        (r#""seen": "nowhere","#, r#""seen": " ","#),
        (r#""seen""#, r#""servers": 1, "seen""#),
        (r#""outcome""#, r#""claas": "tool", "outcome""#),
        (r#""class": "tool","#, ""),
        (r#""class": "tool","#, r#""class": "tools","#),
        (r#""code": null,"#, ""),
        (r#""delivery": "executed","#, r#""delivery": "done","#),
        (r#""repeated": "never","#, r#""repeated": "sometimes","#),
        (r#""wait_ms": null,"#, ""),
        (r#", "why": "nothing is known of it""#, ""),
        (r#""result""#, r#""results""#),
        (r#""outcome": "failure""#, r#""outcome": "success""#),
    ];
    for (old, new) in changes {
        let other = whole.replacen(old, new, 1);
        assert_ne!(other, whole, "{old}");
        assert!(Case::parse(&other).is_err(), "{old} -> {new}");
    }
    let start = whole.find("\"expect\"").unwrap();
    let without = format!("{}}}", whole[..start].trim_end().trim_end_matches(','));
    assert!(Case::parse(&without).is_err(), "{without}");
    let success = r#"{"outcome": "success", "why": "it is a document"}"#;
    let whole = format!("{}\"expect\": {success}}}", &whole[..start]);
    let case = Case::parse(&whole).unwrap();
    assert!(matches!(case.expect, Expected::Success { .. }));
}
