//! Calls by name, with options of one call, typed results, and requests for input.

use crate::support::{
    Ledger, Log, MS, SECOND, Scripted, program, reconnect, resilience, retry,
    scripted::{Seen, events, json_body, result},
    within,
};
use axum::{body::Body, response::Response};
use mcp_resilience::{
    Class, Delivery,
    rmcp::client::{ChildProcess, Client, Connector, Http},
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{CallToolResponse, ElicitRequestParams, ElicitResult, ElicitationAction},
    service::RequestContext,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

async fn connect(connector: impl Connector, log: &Log) -> Client {
    let client = Client::builder(connector)
        .resilience(resilience(log, retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    within("a connection", client.connect()).await.unwrap()
}

/// A server that answers calls so.
async fn server(
    answer: impl Fn(&Seen, usize) -> Response + Send + Sync + 'static,
) -> (Scripted, Client, Log) {
    let server = Scripted::start(move |seen, before| {
        (seen.method() == "tools/call").then(|| answer(seen, before))
    })
    .await;
    let log = Log::default();
    let client = connect(Http::new(&*server.url), &log).await;
    (server, client, log)
}

fn never() -> Response {
    events(Body::from_stream(futures_util::stream::pending::<
        Result<Vec<u8>, std::io::Error>,
    >()))
}

#[tokio::test]
async fn the_options_of_a_call_go_before_those_of_the_layers() {
    let limit = 300 * MS;
    for (tool, options, attempts) in [("look", None, 3), ("look", Some(1), 1), ("book", None, 1)] {
        let (server, client, log) = server(|_, _| never()).await;
        let call = client.call(tool, json!({})).attempt_timeout(limit);
        let call = match options {
            Some(attempts) => call.max_attempts(attempts),
            None => call.repeat_ok(tool == "look"),
        };
        let result = within("an answer", call.into_future()).await.unwrap();
        assert_eq!(result.is_error, Some(true));
        assert_eq!(server.count("tools/call"), attempts, "{tool} {options:?}");
        let line = log.line();
        assert_eq!(
            (&line["class"], &line["attempts"]),
            (&json!("timeout"), &json!(attempts))
        );
    }
    let (server, client, log) = server(|_, _| never()).await;
    let call = client.call("look", json!({})).deadline(limit);
    within("an answer", call.into_future()).await.unwrap();
    assert_eq!(server.count("tools/call"), 1);
    assert!(
        log.line()["error"].to_string().contains("deadline"),
        "{}",
        log.line()
    );
}

#[tokio::test]
async fn a_call_that_cannot_work_is_refused_before_it_is_made() {
    let (server, client, _) = server(|_, _| never()).await;
    let call = || client.call("look", json!({}));
    for call in [
        call().attempt_timeout(Duration::ZERO),
        call().deadline(Duration::ZERO),
        call().max_attempts(0),
        call().attempt_timeout(2 * SECOND).deadline(SECOND),
        client.call("look", json!([1])),
    ] {
        let failure = call.await.unwrap_err();
        assert_eq!(failure.class(), Class::InvalidInput);
    }
    assert_eq!(server.count("tools/call"), 0);
}

#[derive(Debug, Deserialize, PartialEq)]
struct Found {
    books: u32,
}

#[tokio::test]
async fn a_typed_call_reads_the_structured_content_or_says_why_not() {
    let (_server, client, _) = server(|seen, _| {
        let answer = match seen.message["params"]["arguments"]["is"].as_str().unwrap() {
            "good" => json!({"content": [], "structuredContent": {"books": 3}}),
            "other" => json!({"content": [], "structuredContent": {"books": "three"}}),
            "none" => json!({"content": [{"type": "text", "text": "3"}]}),
            _ => json!({"content": [{"type": "text", "text": "no library"}], "isError": true}),
        };
        result(&seen.message["id"], &answer)
    })
    .await;
    let call = |is: &str| client.call("look", json!({"is": is})).typed::<Found>();
    assert_eq!(call("good").await.unwrap(), Found { books: 3 });
    for (is, class, message) in [
        ("other", Class::InvalidOutput, "another type"),
        ("none", Class::InvalidOutput, "no structured content"),
        ("flagged", Class::Tool, "no library"),
    ] {
        let failure = call(is).await.unwrap_err();
        assert_eq!(failure.class(), class);
        assert!(failure.to_string().contains(message), "{failure}");
        assert!(!failure.delivery().did_not_run() || failure.delivery() == Delivery::Unknown);
    }
}

#[tokio::test]
async fn the_progress_of_one_call_reaches_its_own_function_and_a_panic_there_ends_nothing() {
    let (_server, client, _) = server(|seen, _| {
        let token = &seen.message["params"]["_meta"]["progressToken"];
        assert_eq!(seen.message["params"]["_meta"]["tenant"], "emma");
        let report = |progress: u32| {
            let params = json!({"progressToken": token, "progress": progress, "total": 2});
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        };
        let answer = json!({"content": [{"type": "text", "text": "done"}]});
        let answer = json!({"jsonrpc": "2.0", "id": seen.message["id"], "result": answer});
        let all = [report(2), report(1), answer];
        events(Body::from(
            all.map(|message| format!("data: {message}\n\n")).concat(),
        ))
    })
    .await;
    let told = Arc::<Mutex<Vec<f64>>>::default();
    let sink = Arc::clone(&told);
    let meta = json!({"tenant": "emma"}).as_object().cloned().unwrap();
    let call = client.call("look", json!({})).meta(meta.clone());
    let call = call.on_progress(move |report| sink.lock().unwrap().push(report.progress));
    within("an answer", call.into_future()).await.unwrap();
    assert_eq!(*told.lock().unwrap(), [2.0, 2.0], "they never decrease");
    let call = client.call("look", json!({})).meta(meta);
    let call = call.on_progress(|report| assert!(report.progress > 9.0, "a bug"));
    within("an answer", call.into_future()).await.unwrap();
}

/// Answers what a server asks for with the number of the question.
#[derive(Clone, Default)]
struct Answers(Arc<Mutex<u32>>);

impl ClientHandler for Answers {
    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let mut asked = self.0.lock().unwrap();
        *asked += 1;
        let content = json!({"number": *asked});
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }
}

fn asks(seen: &Seen) -> Response {
    let question = json!({
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "which?", "requestedSchema": {"type": "object", "properties": {}}},
    });
    let asked = json!({"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "s1"});
    result(&seen.message["id"], &asked)
}

#[tokio::test]
async fn the_handler_gives_the_input_that_a_server_asks_for_up_to_a_bound() {
    let script = |seen: &Seen, _| {
        let params = &seen.message["params"];
        (seen.method() == "tools/call").then(|| {
            if params["inputResponses"]["q"]["content"]["number"] == 2 {
                assert_eq!(params["requestState"], "s1");
                let text = json!({"content": [{"type": "text", "text": "thanks"}]});
                return result(&seen.message["id"], &text);
            }
            asks(seen)
        })
    };
    let server = Scripted::start(script).await;
    let log = Log::default();
    let answers = Answers::default();
    let client = connect(Http::new(&*server.url).handler(answers.clone()), &log).await;
    let call = || client.call("book", json!({}));
    let result = within("an answer", call().into_future()).await.unwrap();
    assert!(json!(result).to_string().contains("thanks"));
    assert_eq!(
        (server.count("tools/call"), *answers.0.lock().unwrap()),
        (3, 2)
    );
    assert_eq!(log.lines().len(), 3, "each round is a call");

    *answers.0.lock().unwrap() = 5;
    let failure = call().max_rounds(2).await.unwrap_err();
    assert!(
        failure.to_string().contains("more than 2 times"),
        "{failure}"
    );
    assert_eq!(*answers.0.lock().unwrap(), 7);
    let handed = call().response().await.unwrap();
    assert!(
        matches!(handed, CallToolResponse::InputRequired(_)),
        "{handed:?}"
    );
    assert_eq!(*answers.0.lock().unwrap(), 7, "nobody was asked");
}

#[tokio::test]
async fn subscriptions_are_made_again_and_the_hook_runs_on_each_connection() {
    let server = Scripted::start(|seen, before| {
        let id = &seen.message["id"];
        match seen.method() {
            "resources/subscribe" if seen.message["params"]["uri"] == "a:gone" => Some(
                crate::support::scripted::error(id, 200, &json!({"code": -32002, "message": "no"})),
            ),
            "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" | "ping" => {
                Some(result(id, &json!({})))
            }
            // The third connection refuses all.
            _ if seen.method() == "initialize" && before == 9 => None,
            _ => None,
        }
    })
    .await;
    let log = Log::default();
    let hooks = Arc::<Mutex<u32>>::default();
    let count = Arc::clone(&hooks);
    let client = Client::builder(Http::new(&*server.url))
        .resilience(resilience(&log, retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap())
        .on_connect(move |peer| {
            let number = {
                let mut hooks = count.lock().unwrap();
                *hooks += 1;
                *hooks
            };
            async move {
                assert!(number != 2, "a bug");
                peer.list_tools(None).await.map(drop)
            }
        });
    let client = client.connect().await.unwrap();
    for uri in ["a:kept", "a:dropped"] {
        client
            .subscribe(rmcp::model::SubscribeRequestParams::new(uri))
            .await
            .unwrap();
    }
    let gone = rmcp::model::SubscribeRequestParams::new("a:gone");
    client.subscribe(gone).await.unwrap_err();
    let dropped = rmcp::model::UnsubscribeRequestParams::new("a:dropped");
    client.unsubscribe(dropped).await.unwrap();
    #[expect(deprecated, reason = "servers still have it")]
    let level = rmcp::model::SetLevelRequestParams::new(rmcp::model::LoggingLevel::Warning);
    client.set_level(level).await.unwrap();
    // The hook of the second panics, and that of the third is fine.
    for generation in 2..=3 {
        within("a connection", client.reconnect()).await.unwrap();
        assert_eq!(client.handle().generation(), generation);
    }
    let subscribed: Vec<_> = server
        .seen()
        .iter()
        .filter(|seen| seen.method() == "resources/subscribe")
        .map(|seen| seen.message["params"]["uri"].clone())
        .collect();
    assert_eq!(
        subscribed,
        ["a:kept", "a:dropped", "a:gone", "a:kept", "a:kept"]
    );
    assert_eq!(server.count("logging/setLevel"), 3);
    assert_eq!(*hooks.lock().unwrap(), 3);
    assert!(client.is_connected());
    assert_eq!(
        client
            .server_info()
            .unwrap()
            .server_info
            .as_ref()
            .unwrap()
            .name,
        "scripted"
    );
}

#[tokio::test]
async fn a_call_whose_tool_is_another_after_a_redial_is_not_made_again() {
    for is_other in [false, true] {
        let server = Scripted::start(move |seen, before| {
            let id = &seen.message["id"];
            let description = if is_other && before > 0 {
                "sells"
            } else {
                "looks"
            };
            match seen.method() {
                "tools/list" => Some(result(
                    id,
                    &json!({"tools": [{
                        "name": "look",
                        "description": description,
                        "inputSchema": {"type": "object"},
                        "annotations": {"readOnlyHint": true},
                    }]}),
                )),
                "tools/call" if before == 0 => {
                    let broken = futures_util::stream::iter([
                        Ok(Vec::from("{\"jsonrpc\"")),
                        Err(std::io::Error::other("cut off")),
                    ]);
                    let mut response = json_body(&Value::Null);
                    *response.body_mut() = Body::from_stream(broken);
                    Some(response)
                }
                _ => None,
            }
        })
        .await;
        let log = Log::default();
        let client = connect(Http::new(&*server.url), &log).await;
        within("an answer", client.call("look", json!({})).into_future())
            .await
            .unwrap();
        let calls = if is_other { 1 } else { 2 };
        assert_eq!(
            server.count("tools/call"),
            calls,
            "{is_other}: {}",
            log.line()
        );
    }
}

#[tokio::test]
async fn a_child_gets_the_environment_and_the_command_of_the_user_and_its_stderr_is_handed_on() {
    let ledger = Ledger::new();
    let script = format!(
        "echo \"A=$A B=$B C=$C HOME=$HOME\" >&2; echo \"password=hunter2-x\" >&2; exec '{}' --ledger '{}'",
        program("hostile").display(),
        ledger.path().display()
    );
    let told = Arc::<Mutex<Vec<String>>>::default();
    let sink = Arc::clone(&told);
    let connector = ChildProcess::new("/bin/sh")
        .args(["-c", &script])
        .env("A", "lost")
        .env_clear()
        .envs([("B", "2"), ("PATH", "/usr/bin:/bin")])
        .configure(|command| {
            command.env("C", "3");
        })
        .stderr(move |line| {
            let count = {
                let mut told = sink.lock().unwrap();
                told.push(line.to_owned());
                told.len()
            };
            assert!(count < 2, "a bug");
        });
    let client = connect(connector, &Log::default()).await;
    within("the lines", async {
        while told.lock().unwrap().len() < 2 {
            tokio::time::sleep(MS).await;
        }
    })
    .await;
    within("the close", client.close()).await;
    let told = told
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    assert_eq!(told[0], "A= B=2 C=3 HOME=");
    assert!(!told[1].contains("hunter2"), "{told:?}");
}
