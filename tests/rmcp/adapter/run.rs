//! Serving until the client leaves, or until the first fatal failure.

use crate::support::{Desk, Log, Raw, Run, assert_has, ok, preset, settings, within};
use mcp_resilience::{
    Failure, ResilienceLayer,
    call_log::{CallLogLayer, JsonLines},
    classify::ClassifyLayer,
    fatal::{Fatal, FatalLayer},
    rmcp::Resilient,
};
use serde_json::{Value, json};
use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{task::JoinHandle, time::Instant};

/// Does as the tool's name says.
fn desk() -> Desk {
    Desk::new(|run: Run| async move {
        match &*run.params.name {
            "fatal" => {
                let disk = io::Error::other("disk 4 is on fire");
                Err(Failure::fatal("the shelf is gone").because(disk).into())
            }
            "slow" => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                ok("in time")
            }
            "endless" => {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                ok("too late")
            }
            _ => ok("fine"),
        }
    })
}

type Ending = JoinHandle<Result<(), Fatal>>;

/// Runs a server in a task, and gives its client.
fn start(server: Resilient<Desk>) -> (Raw, Ending) {
    let (near, far) = tokio::io::duplex(1 << 16);
    (Raw::over(near), tokio::spawn(server.run(far)))
}

async fn ended(ending: Ending) -> Result<(), Fatal> {
    within("the end of `run`", ending).await.unwrap()
}

fn tool(name: &str) -> Value {
    json!({"name": name})
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_is_a_normal_end_at_every_stage() {
    for stage in 0..4 {
        let log = Log::default();
        let (mut client, ending) = start(Resilient::with_preset(desk(), &preset(&log)));
        if stage > 0 {
            client.initialize().await;
        }
        if stage > 1 {
            client.request("tools/call", tool("fine")).await;
        }
        if stage > 2 {
            client.begin("tools/call", tool("endless")).await;
        }
        client.leave().await;
        let outcome = ended(ending).await;
        assert!(outcome.is_ok(), "stage {stage}: {outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_still_gets_the_answers_that_come_soon() {
    let log = Log::default();
    let (mut client, ending) = start(Resilient::with_preset(desk(), &preset(&log)));
    client.initialize().await;
    let id = client.begin("tools/call", tool("slow")).await;
    client.leave().await;
    let answer = client.next().await.expect("an answer");
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["content"][0]["text"], "in time");
    assert_eq!(client.next().await, None);
    ended(ending).await.unwrap();
    assert_has(&log.only(), &json!({"outcome": "success"}));
}

#[tokio::test(start_paused = true)]
async fn the_first_fatal_failure_is_answered_and_ends_the_run_with_its_reason() {
    let log = Log::default();
    let (mut client, ending) = start(Resilient::with_preset(desk(), &preset(&log)));
    client.initialize().await;
    let begun = Instant::now();
    let answer = client.request("tools/call", tool("fatal")).await;
    let error = json!({"code": -32603, "message": "the shelf is gone"});
    assert_eq!(answer["error"], error, "its cause stays here");

    let fatal = ended(ending).await.unwrap_err();
    assert_eq!(fatal.to_string(), "the shelf is gone");
    assert_eq!(format!("{fatal:?}"), "the shelf is gone: disk 4 is on fire");
    assert!(begun.elapsed() < Duration::from_secs(3));
    let wanted = json!({
        "level": "ERROR", "class": "fatal", "error": "the shelf is gone: disk 4 is on fire",
    });
    assert_has(&log.only(), &wanted);
}

#[tokio::test(start_paused = true)]
async fn after_a_fatal_failure_the_answers_that_are_still_due_are_sent() {
    let log = Log::default();
    let server = Resilient::with_preset(desk(), &preset(&log)).grace(Duration::from_secs(2));
    let attempts = server.handler().attempts();
    let (mut client, ending) = start(server);
    client.initialize().await;
    let slow = client.begin("tools/call", tool("slow")).await;
    let endless = client.begin("tools/call", tool("endless")).await;
    while attempts.so_far().len() < 2 {
        tokio::task::yield_now().await;
    }
    client.begin("tools/call", tool("fatal")).await;

    let mut answers = Vec::new();
    while let Some(answer) = client.next().await {
        answers.push(answer);
    }
    let fatal = ended(ending).await.unwrap_err();
    assert_eq!(fatal.to_string(), "the shelf is gone");
    let to = |id: u64| answers.iter().find(|answer| answer["id"] == id);
    let answer = to(slow).expect("an answer to the slow call");
    assert_eq!(
        answer["result"]["content"][0]["text"], "in time",
        "300 ms of work fit into the two seconds: {answer:#}"
    );
    // The other one was not going to answer in any time.
    let answer = to(endless).expect("an answer to the endless call");
    let told = "Error executing tool endless: the server was shut down before it was done. \
                It may have run; verify before repeating.";
    assert_eq!(answer["result"]["isError"], true, "{answer:#}");
    assert_eq!(answer["result"]["content"][0]["text"], told);
    let lines = log.all();
    assert_eq!(lines.len(), 3, "one line each");
    let wanted = json!({
        "outcome": "failed", "class": "unavailable", "delivery": "unknown",
        "retry_stopped": "may_have_run",
    });
    assert_has(
        lines.iter().find(|line| line["tool"] == "endless").unwrap(),
        &wanted,
    );
}

#[tokio::test(start_paused = true)]
async fn a_stack_that_is_shut_from_outside_ends_the_run() {
    let log = Log::default();
    let server = Resilient::with_preset(desk(), &preset(&log));
    let handle = server.fatal_handle().clone();
    let (mut client, ending) = start(server);
    client.initialize().await;
    handle.shut(Fatal::new("the license has run out"));
    let fatal = ended(ending).await.unwrap_err();
    assert_eq!(fatal.to_string(), "the license has run out");
    assert_eq!(client.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_before_the_client_says_anything_ends_the_run() {
    let log = Log::default();
    let server = Resilient::with_preset(desk(), &preset(&log));
    let handle = server.fatal_handle().clone();
    let (client, ending) = start(server);
    handle.shut(Fatal::new("the license has run out"));
    let fatal = ended(ending).await.unwrap_err();
    assert_eq!(fatal.to_string(), "the license has run out");
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_stack_of_the_user_ends_with_the_handle_it_is_given() {
    let fatal = FatalLayer::new();
    let log = Log::default();
    let stack = settings(&log).fatal(fatal.clone()).build().unwrap();
    let server = Resilient::with_layer(desk(), &stack);
    let server = server.ends_with(fatal.handle());

    let (near, far) = tokio::io::duplex(1 << 16);
    let ending = tokio::spawn(server.run(far));
    let mut client = Raw::over(near);
    client.initialize().await;
    let answer = client.request("tools/call", tool("fatal")).await;
    assert_eq!(answer["error"]["message"], "the shelf is gone");
    let fatal = ended(ending).await.unwrap_err();
    assert_eq!(fatal.to_string(), "the shelf is gone");
}

/// A slow writer.
#[derive(Clone, Debug, Default)]
struct Slow(Arc<Mutex<Vec<u8>>>);

impl Write for Slow {
    #[expect(
        clippy::disallowed_methods,
        reason = "it blocks the thread of the log, which is what is tried here"
    )]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(200));
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_last_lines_are_written_before_the_run_is_over() {
    let written = Slow::default();
    let sink = JsonLines::new(written.clone());
    let preset = ResilienceLayer::builder()
        .log(CallLogLayer::new(sink.clone()))
        .build()
        .unwrap();
    let (mut client, ending) = start(Resilient::with_preset(desk(), &preset));
    client.initialize().await;
    for _ in 0..3 {
        client.request("tools/call", tool("fine")).await;
    }
    client.leave().await;
    ended(ending).await.unwrap();
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.ends_with('\n'), "{text}");
    // Kept until here: the end of the last clone would write the rest.
    assert_eq!(sink.lost(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_before_the_handshake_leaves_its_line() {
    let log = Log::default();
    let server = Resilient::with_preset(desk(), &preset(&log));
    let (near, far) = tokio::io::duplex(1 << 16);
    let ending = tokio::spawn(server.run(far));
    let mut client = Raw::over(near);
    let early = [
        (
            "tools/call",
            json!({"name": "look", "arguments": {"title": "Dune"}}),
        ),
        ("tools/call", json!({"name": 7})),
        ("resources/read", json!({"uri": "shelf://4"})),
        ("tools/list", json!({})),
    ];
    for (method, params) in early {
        let answer = client.request(method, params).await;
        assert!(answer["error"]["code"].is_number(), "{answer}");
    }
    client.initialize().await;
    let answer = client.request("tools/call", json!({"name": "look"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "fine");
    client.leave().await;
    within("the end", ending).await.unwrap().unwrap();
    let lines = log.all();
    assert_eq!(
        lines.len(),
        4,
        "three calls before, and one after: {lines:#?}"
    );
    let refused = json!({"outcome": "failed", "class": "invalid_input", "delivery": "not_sent"});
    for line in &lines[..3] {
        assert_has(line, &refused);
    }
    let first = json!({"tool": "look", "request_id": 1, "arguments": {"title": "Dune"}});
    assert_has(&lines[0], &first);
    assert_has(
        &lines[2],
        &json!({"method": "resources/read", "request_id": 3}),
    );
    assert_has(&lines[3], &json!({"outcome": "success", "tool": "look"}));
}

#[tokio::test(start_paused = true)]
async fn a_stack_that_takes_its_time_for_early_calls_holds_up_no_handshake_and_loses_no_line() {
    let log = Log::default();
    let slow = tower::ServiceBuilder::new()
        .layer(CallLogLayer::new(log.clone()))
        .map_future(|answer| async {
            tokio::time::sleep(Duration::from_secs(40)).await;
            answer.await
        })
        .layer(ClassifyLayer::new())
        .into_inner();
    let (near, far) = tokio::io::duplex(1 << 16);
    let ending = tokio::spawn(Resilient::with_layer(desk(), &slow).run(far));
    let mut client = Raw::over(near);
    let begun = Instant::now();
    for _ in 0..3 {
        let early = client.request("tools/call", json!({"name": "look"})).await;
        assert!(early["error"]["code"].is_number(), "{early}");
    }
    client.initialize().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    client.leave().await;
    within("the end", ending).await.unwrap().unwrap();
    let lines = log.all();
    assert_eq!(lines.len(), 3, "{lines:#?}");
    for line in &lines {
        assert_has(line, &json!({"tool": "look", "outcome": "cancelled"}));
    }
}

/// A session without `initialize` begins with its first call.
#[tokio::test(start_paused = true)]
async fn a_call_that_begins_a_session_leaves_one_line() {
    let log = Log::default();
    let server = Resilient::with_preset(desk(), &preset(&log));
    let (near, far) = tokio::io::duplex(1 << 16);
    let ending = tokio::spawn(server.run(far));
    let mut client = Raw::over(near);
    let unknown = crate::support::modern(json!({"name": 7}));
    client.request("tools/call", unknown).await;
    let look = crate::support::modern(json!({"name": "look"}));
    let answer = client.request("tools/call", look).await;
    assert_eq!(answer["result"]["content"][0]["text"], "fine", "{answer}");
    client.leave().await;
    within("the end", ending).await.unwrap().unwrap();
    assert_eq!(log.all().len(), 2, "{:#?}", log.all());
}
