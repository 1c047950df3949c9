//! Lists of tools that are odd, late or missing.

use super::{connect, make, none};
use crate::peer::{
    Ledger, Log, SECOND, Scripted, program,
    scripted::{json_body, result, status},
    within,
};
use axum::{http::StatusCode, response::Response};
use mcp_resilience::call::Hints;
use rmcp::model::CallToolRequestParams;
use serde_json::{Value, json};
use std::process::{Output, Stdio};
use tokio::{process::Command, time::Instant};

/// Runs `call --list` to its end: exit code, stdout and stderr.
async fn list(server: &[&str]) -> (Option<i32>, String, String) {
    let running = Command::new(program("call"))
        .args(["--timeout", "10", "--list"])
        .args(server)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let Output {
        status,
        stdout,
        stderr,
    } = within("the end of `call`", running).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn names(stdout: &str) -> Vec<String> {
    let tools: Value = serde_json::from_str(stdout).unwrap();
    let tools = tools.as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

fn page(names: &[&str], next: &str) -> Value {
    let tools = names
        .iter()
        .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
    json!({"tools": tools.collect::<Vec<_>>(), "nextCursor": next})
}

/// A server over HTTP that lists its tools as a function of the request and its number says.
async fn listing(
    answer: impl Fn(&Value, usize) -> Option<Response> + Send + Sync + 'static,
) -> Scripted {
    Scripted::start(move |seen, before| {
        let is_list = seen.method() == "tools/list";
        is_list
            .then(|| answer(&seen.message["id"], before))
            .flatten()
    })
    .await
}

#[tokio::test]
async fn case_100_a_cursor_that_does_not_advance_ends_the_list_with_each_tool_once() {
    let pages: [fn(usize) -> Value; 2] = [
        |_| page(&["a", "b"], "8"),
        |n| match n % 2 {
            0 => page(&["a"], "A"),
            _ => page(&["b"], "B"),
        },
    ];
    for page in pages {
        let server = listing(move |id, n| Some(result(id, &page(n)))).await;
        let (code, stdout, stderr) = list(&["--url", &server.url]).await;
        assert_eq!(code, Some(0), "{stderr}");
        assert_eq!(names(&stdout), ["a", "b"]);
        assert!(stderr.contains("repeats a cursor"), "{stderr}");
        assert!(server.count("tools/list") <= 3);
    }
}

#[tokio::test]
async fn case_102_a_list_that_fails_is_no_empty_list() {
    let hostile = program("hostile").to_str().unwrap().to_owned();
    let with = |ledger: &Ledger, fault| {
        let ledger = ledger.path().to_str().unwrap().to_owned();
        [
            "--".to_owned(),
            hostile.clone(),
            "--ledger".to_owned(),
            ledger,
            fault,
        ]
    };
    let ledger = Ledger::new();
    let line = with(&ledger, "--list-error".to_owned());
    let (code, stdout, stderr) = list(&line.each_ref().map(String::as_str)).await;
    assert_eq!((code, &*stdout), (Some(4), ""), "{stderr}");
    assert!(stderr.contains("registry locked"), "{stderr}");

    let hangs = Ledger::new();
    let line = with(&hangs, "--list-mute".to_owned());
    let (code, stdout, stderr) = list(&line.each_ref().map(String::as_str)).await;
    assert_eq!((code, &*stdout), (Some(4), ""), "{stderr}");
    assert!(stderr.contains("within"), "{stderr}");

    let second = listing(|id, n| match n {
        0 => Some(result(id, &page(&["a"], "2"))),
        _ => Some(status(500)),
    });
    let (code, stdout, stderr) = list(&["--url", &second.await.url]).await;
    assert_eq!((code, &*stdout), (Some(4), ""), "{stderr}");
    assert!(stderr.contains("500"), "{stderr}");
}

#[tokio::test]
async fn case_102_a_reconnect_to_a_server_that_does_not_list_keeps_what_is_known() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let connector = ledger.stdio(&["--list-error", "--start-fault-from", "2"]);
    let client = connect(connector, &log).await;
    let dies = json!({"kind": "die_after"});
    assert!(!make(&client, "look", &dies).await.0, "{:?}", log.lines());
    assert_eq!(client.handle().generation(), 2);
    assert_eq!(client.tools().unwrap().len(), 3);
    assert!(
        client
            .catalog()
            .hints("look")
            .is_some_and(Hints::may_repeat)
    );
    assert!(client.catalog().failure().is_some());
    // The hints still let a call be repeated.
    let other = json!({"key": "other", "fault": dies});
    let call = CallToolRequestParams::new("look");
    let call = call.with_arguments(other.as_object().unwrap().clone());
    within("an answer", client.call_tool(call)).await.unwrap();
    assert_eq!(log.lines()[1]["attempts"], 2, "{:?}", log.lines());
    assert_eq!(client.handle().generation(), 3);
    // And the list is asked for again.
    let before = ledger.count("listed");
    ledger.wait_for("listed", before + 2).await;
    assert!(!make(&client, "book", &none()).await.0);
}

#[tokio::test]
async fn case_104_a_rate_limited_list_is_repeated_after_the_wait_and_a_refusal_is_reported() {
    let server = listing(|id, n| {
        (n == 0).then(|| {
            let error = json!({"code": -32004, "message": "Too many requests"});
            let body = json!({"jsonrpc": "2.0", "id": id, "result": null, "error": error});
            let mut response = json_body(&body);
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            let headers = response.headers_mut();
            headers.insert("retry-after", "2".parse().unwrap());
            response
        })
    });
    let server = server.await;
    let begun = Instant::now();
    let (code, stdout, stderr) = list(&["--url", &server.url]).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(begun.elapsed() >= 2 * SECOND, "never earlier");
    assert_eq!(names(&stdout), ["book", "look"]);
    assert_eq!(server.count("tools/list"), 2);

    for (code, text) in [(401, "401"), (404, "404"), (500, "500")] {
        let server = listing(move |_, _| Some(status(code))).await;
        let (code, stdout, stderr) = list(&["--url", &server.url]).await;
        assert_eq!((code, &*stdout), (Some(4), ""), "{stderr}");
        assert!(stderr.contains(text), "{stderr}");
    }
}
