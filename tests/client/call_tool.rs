//! The example `call`, run as a process.

use crate::support::{
    Ledger, Port, Scripted, program,
    scripted::{events, result},
    within,
};
use axum::body::Body;
use serde_json::{Value, json};
use std::process::{Output, Stdio};
use tokio::{process::Command, task::JoinSet};

/// Runs it to its end, which has to come.
async fn run(arguments: &[&str]) -> Output {
    let running = Command::new(program("call"))
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    within("the end of the program", running).await.unwrap()
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// The command line of a call to a hostile server over stdio.
fn line(ledger: &Ledger, options: &[&str], call: &[&str], server: &[&str]) -> Vec<String> {
    let program = program("hostile").to_str().unwrap().to_owned();
    let ledger = ledger.path().to_str().unwrap().to_owned();
    let words = options.iter().chain(call).map(|word| (*word).to_owned());
    let server = server.iter().map(|word| (*word).to_owned());
    let command = ["--".to_owned(), program, "--ledger".to_owned(), ledger];
    words.chain(command).chain(server).collect()
}

async fn call(ledger: &Ledger, options: &[&str], call: &[&str], server: &[&str]) -> Output {
    let line = line(ledger, options, call, server);
    run(&line.iter().map(String::as_str).collect::<Vec<_>>()).await
}

#[tokio::test]
async fn a_result_is_printed_as_json_and_its_kind_is_the_exit_code() {
    let arguments = |fault: Value| json!({"key": "k", "fault": fault}).to_string();
    let fault = |kind: &str| arguments(json!({"kind": kind}));
    let status = arguments(json!({"kind": "status", "status": 429}));
    let cases = [
        ("look", fault("none"), 0),
        ("look", fault("die_after"), 0),
        ("book", fault("die_after"), 1),
        ("book", fault("wrong_result"), 1),
        // The fault is of HTTP only: the server rejects the request.
        ("book", status, 2),
        ("no_such_tool", "{}".to_owned(), 2),
    ];
    for (tool, arguments, code) in cases {
        let ledger = Ledger::new();
        let output = call(&ledger, &[], &[tool, &arguments], &[]).await;
        let (is, stdout, stderr) = said(&output);
        assert_eq!(is, Some(code), "{tool} {arguments}: {stdout}{stderr}");
        if code == 2 {
            assert_eq!(stdout, "");
            assert!(stderr.contains("error -32602: "), "{stderr}");
        } else {
            let result: Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!(result["isError"] == true, code == 1, "{result}");
        }
        let log: Vec<Value> = stderr
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        assert_eq!(log.len(), 1, "{stderr}");
        assert_eq!(log[0]["tool"], tool);
    }
}

#[tokio::test]
async fn the_options_reach_the_stack() {
    let hang = json!({"key": "k", "fault": {"kind": "hang"}, "times": 9}).to_string();
    // The timeout holds for the start too.
    let cases = [
        (
            &["--timeout", "15", "--max-attempts", "2"][..],
            "look",
            2..=2,
        ),
        (&["--timeout", "15"], "book", 1..=1),
        (
            &["--timeout", "15", "--max-attempts", "2", "--repeat-ok"],
            "book",
            2..=2,
        ),
        // The deadline ends the first attempt, or one that a short wait left room for.
        (&["--timeout", "30", "--deadline", "10"], "look", 1..=2),
    ];
    let mut calls = JoinSet::new();
    for (options, tool, attempts) in cases {
        let hang = hang.clone();
        calls.spawn(async move {
            let ledger = Ledger::new();
            let output = call(&ledger, options, &[tool, &hang], &[]).await;
            let (code, _, stderr) = said(&output);
            assert_eq!(code, Some(1), "{options:?}: {stderr}");
            let log = stderr
                .lines()
                .find_map(|line| serde_json::from_str(line).ok());
            let log: Value = log.unwrap_or_else(|| panic!("no log in {stderr}"));
            let made = usize::try_from(log["attempts"].as_u64().unwrap()).unwrap();
            assert!(attempts.contains(&made), "{options:?}: {stderr}");
            // A busy machine may use up an attempt before it reaches the tool.
            assert!(ledger.count("executed") <= made, "{options:?}");
        });
    }
    calls.join_all().await;
}

#[tokio::test]
async fn a_server_that_does_not_list_its_tools_is_told_from_one_without_tools() {
    let ledger = Ledger::new();
    let output = call(&ledger, &["--list"], &[], &["--list-error"]).await;
    let (code, stdout, stderr) = said(&output);
    assert_eq!((code, &*stdout), (Some(4), ""), "{stderr}");
    assert!(stderr.starts_with("no list: "), "{stderr}");
    assert!(stderr.contains("registry locked"), "{stderr}");
    // It can still be called.
    let good = r#"{"key":"k"}"#;
    let output = call(&ledger, &[], &["book", good], &["--list-error"]).await;
    assert_eq!(said(&output).0, Some(0));
}

#[tokio::test]
async fn a_list_shows_the_tools_with_their_annotations() {
    let ledger = Ledger::new();
    let (code, stdout, _) = said(&call(&ledger, &["--list"], &[], &[]).await);
    assert_eq!(code, Some(0));
    let tools: Value = serde_json::from_str(&stdout).unwrap();
    let look = tools
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "look")
        .unwrap();
    assert_eq!(look["annotations"]["readOnlyHint"], true);
    assert_eq!(look["inputSchema"]["type"], "object");
}

#[tokio::test]
async fn a_server_over_http_is_called_by_its_url() {
    let ledger = Ledger::new();
    let server = ledger.http(&[]).await;
    let output = run(&["--url", &server.url, "look", r#"{"key":"k"}"#]).await;
    let (code, stdout, stderr) = said(&output);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("k ran 1 time(s)"), "{stdout}");
}

#[tokio::test]
async fn it_lists_and_reads_resources_and_prompts_with_headers_and_a_token() {
    let server = Scripted::start(|seen, _| {
        assert_eq!(seen.headers["x-tenant"], "emma");
        assert_eq!(seen.headers["authorization"], "Bearer t0ken");
        let answer = match seen.method() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            }),
            "resources/list" => json!({"resources": [{"uri": "a:1", "name": "one"}]}),
            "resources/templates/list" => {
                json!({"resourceTemplates": [{"uriTemplate": "a:{n}", "name": "any"}]})
            }
            "prompts/list" => json!({"prompts": [{"name": "ask"}]}),
            "resources/read" => {
                json!({"contents": [{"uri": seen.message["params"]["uri"], "text": "read"}]})
            }
            _ => return None,
        };
        Some(result(&seen.message["id"], &answer))
    })
    .await;
    for (words, expected) in [
        (&["--resources"][..], json!([{"uri": "a:1", "name": "one"}])),
        (
            &["--templates"],
            json!([{"uriTemplate": "a:{n}", "name": "any"}]),
        ),
        (&["--prompts"], json!([{"name": "ask"}])),
        (
            &["--read", "a:1"],
            json!({"contents": [{"uri": "a:1", "text": "read"}]}),
        ),
    ] {
        let options = [
            "--json",
            "--header",
            "X-Tenant: emma",
            "--bearer-env",
            "CALL_TOKEN",
        ];
        let running = Command::new(program("call"))
            .args(options.iter().chain(words))
            .args(["--url", &server.url])
            .env("CALL_TOKEN", "t0ken")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = within("the end of the program", running).await.unwrap();
        let (code, stdout, stderr) = said(&output);
        assert_eq!(code, Some(0), "{words:?}: {stderr}");
        assert_eq!(stdout.lines().count(), 1, "{stdout}");
        let printed: Value = serde_json::from_str(&stdout).unwrap();
        for (name, value) in expected.as_object().into_iter().flatten() {
            assert_eq!(printed[name], *value);
        }
        if expected.is_array() {
            assert_eq!(printed, expected);
        }
    }
}

#[tokio::test]
async fn it_shows_progress_and_gives_the_server_its_variables() {
    let server = Scripted::start(|seen, _| {
        (seen.method() == "tools/call").then(|| {
            let token = &seen.message["params"]["_meta"]["progressToken"];
            let report = json!({"progressToken": token, "progress": 15, "total": 30, "message": "half\u{1b}"});
            let report = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": report});
            let answer = json!({"content": [{"type": "text", "text": "done"}]});
            let answer = json!({"jsonrpc": "2.0", "id": seen.message["id"], "result": answer});
            events(Body::from(format!("data: {report}\n\ndata: {answer}\n\n")))
        })
    })
    .await;
    let output = run(&["--progress", "--url", &server.url, "look"]).await;
    let (code, _, stderr) = said(&output);
    assert_eq!(code, Some(0), "{stderr}");
    let bar = format!(
        "[{}{}] 15 of 30 half\\u{{1b}}",
        "#".repeat(15),
        ".".repeat(15)
    );
    assert_eq!(stderr.lines().next(), Some(&*bar));

    let ledger = Ledger::new();
    let script = format!(
        "[ \"$CALL_KIND\" = a=b ] || exit 9; exec '{}' --ledger '{}'",
        program("hostile").display(),
        ledger.path().display()
    );
    let output = run(&[
        "--env",
        "CALL_KIND=a=b",
        "--list",
        "--",
        "sh",
        "-c",
        &script,
    ])
    .await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output).2);
}

#[tokio::test]
async fn a_forgotten_separator_is_explained_and_the_version_is_told() {
    for words in [
        &["look", "npx"][..],
        &["look", "{}", "npx", "server"],
        &["look", "{}", "npx", "-y", "server"],
        &["./server", "--list"],
    ] {
        let (code, _, stderr) = said(&run(words).await);
        assert_eq!(code, Some(64), "{words:?}");
        assert!(stderr.contains("`--`"), "{words:?}: {stderr}");
    }
    let (code, stdout, _) = said(&run(&["--version"]).await);
    assert_eq!(
        (code, stdout.trim()),
        (Some(0), concat!("call ", env!("CARGO_PKG_VERSION")))
    );
}

#[tokio::test]
async fn without_a_server_it_says_why_with_the_childs_last_lines_of_stderr() {
    let ledger = Ledger::new;
    let no_command = run(&["look", "--", "./no-such-command"]).await;
    let crashed = call(&ledger(), &[], &["look"], &["--crash-starts", "9"]).await;
    let mute = call(&ledger(), &["--timeout", "0.5"], &["look"], &["--mute"]).await;
    let babble = call(&ledger(), &["--timeout", "0.5"], &["look"], &["--not-mcp"]).await;
    let version = call(&ledger(), &[], &["look"], &["--protocol", "1999-01-01"]).await;
    let closed = Port::new();
    let url = format!("http://{}/mcp", closed.address);
    let nothing = run(&["look", "--url", &url]).await;
    let cases = [
        (no_command, "cannot run the command `./no-such-command`"),
        (crashed, "exit status: 3); its last words: crashed at start"),
        (mute, "not ready within 500ms"),
        (babble, "not ready within 500ms"),
        (version, "speaks MCP `1999-01-01`"),
        (nothing, "cannot be reached"),
    ];
    for (output, text) in cases {
        let (code, stdout, stderr) = said(&output);
        assert_eq!(code, Some(3), "{text}: {stderr}");
        assert_eq!(stdout, "");
        assert_eq!(stderr.lines().count(), 1, "one clear line: {stderr}");
        assert!(
            stderr.starts_with("no server: ") && stderr.contains(text),
            "{stderr}"
        );
    }
}

#[tokio::test]
async fn bad_usage_says_what_is_wrong_and_starts_nothing() {
    let cases = [
        (&[][..], "no server"),
        (&["look"], "no server"),
        (&["--", "true"], "no tool"),
        (&["look", "[1]", "--", "true"], "not a json object"),
        (&["look", "{", "--", "true"], "not a json object"),
        (&["look", "--url", "nowhere"], "must begin with `http://`"),
        (
            &["look", "--url", "http://127.0.0.1:9", "--", "true"],
            "not both",
        ),
        (&["--list", "look", "--", "true"], "takes no tool"),
        (&["--timeout", "0", "look", "--", "true"], "above 0"),
        (&["--timeout", "soon", "look", "--", "true"], "above 0"),
        (&["--deadline=-1", "look", "--", "true"], "--deadline"),
        (&["--max-attempts", "0", "look", "--", "true"], "attempt"),
        (&["--no-such-option"], "--no-such-option"),
        (&["--list", "--prompts", "--", "true"], "cannot be used"),
        (&["--read", "a:1", "look", "--", "true"], "not both"),
        (
            &["look", "--header", "x", "--url", "http://127.0.0.1:9"],
            "NAME: VALUE",
        ),
        (&["look", "--header", "x: y", "--", "true"], "for a url"),
        (&["look", "--env", "x", "--", "true"], "NAME=VALUE"),
        (
            &["look", "--env", "x=y", "--url", "http://127.0.0.1:9"],
            "for a command",
        ),
        (
            &[
                "look",
                "--bearer-env",
                "NO_SUCH_VARIABLE",
                "--url",
                "http://127.0.0.1:9",
            ],
            "is not set",
        ),
    ];
    for (arguments, text) in cases {
        let (code, stdout, stderr) = said(&run(arguments).await);
        assert_eq!(code, Some(64), "{arguments:?}: {stderr}");
        assert_eq!(stdout, "");
        assert!(stderr.contains(text), "{arguments:?}: {stderr}");
    }
}
