//! Tokens: the source is asked at each dial, and again when the server wants another token.

use crate::support::{
    Log, MS, SECOND, Scripted, call, reconnect, resilience, retry, scripted::status, within,
};
use axum::response::{IntoResponse, Response};
use mcp_resilience::{
    Class, Failure,
    rmcp::client::{Challenge, Client, Http},
};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    env,
    future::pending,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

fn refusal(code: u16, challenge: &str) -> Response {
    let mut response = status(code);
    let value = challenge.parse().unwrap();
    response.headers_mut().insert("www-authenticate", value);
    response
}

async fn connect(connector: Http, log: &Log) -> Result<Client, Failure> {
    let client = Client::builder(connector)
        .resilience(resilience(log, retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    within("a connection", client.connect()).await
}

fn look() -> CallToolRequestParams {
    call("look", &json!(null), 0)
}

/// Tokens that are good for a second, by their number.
#[derive(Default)]
struct Issued {
    ends: Mutex<Vec<Instant>>,
    refused: Mutex<HashSet<usize>>,
    /// The messages that were refused once: the next time may be late on a busy machine.
    again: Mutex<HashSet<String>>,
}

impl Issued {
    fn issue(&self) -> String {
        let mut ends = self.ends.lock().unwrap();
        ends.push(Instant::now() + SECOND);
        (ends.len() - 1).to_string()
    }

    fn is_good(&self, header: Option<&str>, message: &Value) -> bool {
        let number = header.and_then(|header| header.strip_prefix("Bearer "));
        let number: usize = number.unwrap().parse().unwrap();
        let is_good = Instant::now() < self.ends.lock().unwrap()[number]
            || !self.again.lock().unwrap().insert(message.to_string());
        if !is_good {
            self.refused.lock().unwrap().insert(number);
        }
        is_good
    }
}

/// For two seconds; with `MCP_RESILIENCE_SECONDS=30` for 30.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_that_expire_every_second_fail_no_call_and_each_is_replaced_once() {
    let seconds = env::var("MCP_RESILIENCE_SECONDS").ok();
    let seconds = seconds.map_or(2, |seconds| seconds.parse().unwrap());
    let issued = Arc::<Issued>::default();
    let checks = Arc::clone(&issued);
    let server = Scripted::start(move |seen, _| {
        let header = seen.headers.get("authorization");
        let is_good = checks.is_good(header.map(|header| header.to_str().unwrap()), &seen.message);
        (!is_good).then(|| refusal(401, "Bearer error=\"invalid_token\""))
    })
    .await;
    let asked = Arc::<AtomicUsize>::default();
    let (source, count) = (Arc::clone(&issued), Arc::clone(&asked));
    let connector = Http::new(&*server.url).credentials(move |_| {
        let source = Arc::clone(&source);
        count.fetch_add(1, SeqCst);
        async move {
            sleep(20 * MS).await;
            Ok::<_, io::Error>(source.issue())
        }
    });
    let log = Log::default();
    let client = connect(connector, &log).await.unwrap();
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let client = client.clone();
        callers.spawn(async move {
            let mut calls = 0;
            while Instant::now() < until {
                let answer = client.call_tool(look()).await.unwrap();
                assert!(
                    matches!(&answer, CallToolResponse::Complete(result) if result.is_error != Some(true)),
                    "{answer:?}"
                );
                calls += 1;
                sleep(5 * MS).await;
            }
            calls
        });
    }
    let calls: usize = callers.join_all().await.into_iter().sum();
    let (asked, refused) = (asked.load(SeqCst), issued.refused.lock().unwrap().len());
    assert!(refused > 0 && calls > 8);
    assert_eq!(
        asked,
        refused + 1,
        "one question for each token that expired"
    );
    assert_eq!(client.handle().generation(), 1);
    eprintln!("{calls} calls in {seconds} s, {refused} tokens expired, {asked} asked for");
}

#[tokio::test]
async fn a_challenge_for_more_scope_reaches_the_source_and_the_call_runs_once() {
    let server = Scripted::start(|seen, _| {
        let header = seen.headers.get("authorization").unwrap();
        let is_narrow = header.to_str().unwrap() == "Bearer narrow";
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"files:write\"";
        (is_narrow && seen.method() == "tools/call").then(|| refusal(403, challenge))
    })
    .await;
    let connector =
        Http::new(&*server.url).credentials(|challenge: Option<Challenge>| async move {
            Ok::<_, io::Error>(match challenge {
                None => "narrow".to_owned(),
                Some(challenge) => challenge.param("scope").unwrap(),
            })
        });
    let log = Log::default();
    let client = connect(connector, &log).await.unwrap();
    client.call_tool(look()).await.unwrap();
    assert_eq!(server.count("tools/call"), 2, "refused, and run");
    let seen = server.seen();
    assert_eq!(
        seen.last().unwrap().headers["authorization"],
        "Bearer files:write"
    );
    let line = log.line();
    assert_eq!(
        (&line["outcome"], &line["attempts"]),
        (&json!("success"), &json!(1))
    );
}

#[tokio::test]
async fn a_source_without_a_token_waits_until_the_server_asks_for_one() {
    for wants_one in [true, false] {
        let server = Scripted::start(move |seen, _| {
            let has_one = seen.headers.contains_key("authorization");
            (wants_one && !has_one).then(|| refusal(401, "Bearer scope=\"files:read\""))
        });
        let server = server.await;
        let connector = Http::new(&*server.url).credentials(|challenge: Option<Challenge>| async {
            let scope = challenge.and_then(|challenge| challenge.param("scope"));
            Ok::<_, io::Error>(scope)
        });
        let client = connect(connector, &Log::default()).await.unwrap();
        client.call_tool(look()).await.unwrap();
        let asked = usize::from(wants_one);
        assert_eq!(server.count("initialize"), 1 + asked);
        assert_eq!(server.count("tools/call"), 1, "later requests have it");
        let last = server.seen().pop().unwrap();
        let token = last.headers.get("authorization");
        assert_eq!(
            token.is_some_and(|token| token == "Bearer files:read"),
            wants_one
        );
    }
}

#[tokio::test]
async fn a_source_that_answers_a_challenge_without_a_token_is_not_asked_again_for_that_request() {
    let server = Scripted::start(|_, _| Some(refusal(401, "Bearer"))).await;
    let connector = Http::new(&*server.url).credentials(|_| async { Ok::<_, io::Error>(None) });
    let failure = connect(connector, &Log::default()).await.unwrap_err();
    let chain = failure.chain().to_string();
    assert!(chain.contains("401 Unauthorized"), "{chain}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_challenge_that_nothing_answers_is_the_hosts_and_is_in_the_log() {
    for (code, class, challenge) in [
        (
            401,
            Class::Unauthorized,
            "Bearer error=\"invalid_token\", resource_metadata=\"https://a.example/x\"",
        ),
        (
            403,
            Class::Forbidden,
            "Bearer error=\"insufficient_scope\", scope=\"files:write\"",
        ),
    ] {
        let server = Scripted::start(move |seen, _| {
            (seen.method() == "tools/call").then(|| refusal(code, challenge))
        })
        .await;
        // With a source that has nothing else either.
        let sourced =
            Http::new(&*server.url).credentials(|challenge: Option<Challenge>| async move {
                challenge.map_or(Ok("token".to_owned()), |_| {
                    Err(io::Error::other("logged out"))
                })
            });
        for connector in [Http::new(&*server.url).bearer("old"), sourced] {
            let log = Log::default();
            let client = connect(connector, &log).await.unwrap();
            let failure = client.call_tool(look()).await.unwrap_err();
            assert_eq!(failure.class(), class);
            let found = Challenge::of_failure(&failure).unwrap();
            assert_eq!((found.status(), found.header()), (code, challenge));
            let said = log.line()["error"].to_string();
            let told = found
                .param("scope")
                .or(found.param("resource_metadata"))
                .unwrap();
            assert!(said.contains(&told), "{said}");
        }
    }
}

#[tokio::test]
async fn a_refusal_without_a_challenge_is_flagged_as_before() {
    let server = Scripted::start(|seen, _| (seen.method() == "tools/call").then(|| status(403)));
    let server = server.await;
    let log = Log::default();
    let client = connect(Http::new(&*server.url), &log).await.unwrap();
    let answer = client.call_tool(look()).await.unwrap();
    assert!(matches!(answer, CallToolResponse::Complete(result) if result.is_error == Some(true)));
}

#[tokio::test]
async fn a_source_that_fails_hangs_or_panics_fails_the_dial_with_its_reason() {
    let server = Scripted::start(|_, _| None).await;
    let base = || Http::new(&*server.url).start_timeout(2 * SECOND);
    let fails = base().credentials(|_| async { Err::<String, _>(io::Error::other("no keychain")) });
    let hangs = base().credentials(|_| pending::<Result<String, io::Error>>());
    let panics = base().credentials(|_| async {
        assert!(env::args().count() == 0, "a bug");
        Ok::<_, io::Error>(String::new())
    });
    for (connector, reason) in [
        (fails, "no keychain"),
        (hangs, "within 2s"),
        (panics, "the source of credentials panicked"),
    ] {
        let failure = connect(connector, &Log::default()).await.unwrap_err();
        assert_eq!(failure.class(), Class::Fatal);
        let chain = failure.chain().to_string();
        assert!(chain.contains(reason), "{chain}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_header_is_made_of_texts_and_one_that_cannot_be_fails_the_dial() {
    let server = Scripted::start(|_, _| None).await;
    let log = Log::default();
    let connector = Http::new(&*server.url).header("x-tenant", "emma");
    let connector = connector.client_builder(|builder| builder.user_agent("agent/1"));
    let client = connect(connector, &log).await.unwrap();
    client.call_tool(look()).await.unwrap();
    for seen in server.seen() {
        assert_eq!(
            (&seen.headers["x-tenant"], &seen.headers["user-agent"]),
            (&"emma".parse().unwrap(), &"agent/1".parse().unwrap())
        );
    }
    let wrong = Http::new(&*server.url).header("x tenant", "s3cret");
    let failure = connect(wrong, &log).await.unwrap_err();
    let chain = failure.chain().to_string();
    assert!(
        chain.contains("header") && !chain.contains("s3cret"),
        "{chain}"
    );
}

/// A server that says this of idempotency keys.
async fn honouring(said: Value) -> Scripted {
    Scripted::start(move |seen, _| {
        (seen.method() == "initialize").then(|| {
            let result = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {
                    "tools": {},
                    "experimental": {"io.crates.mcp-resilience/idempotency": said},
                },
                "serverInfo": {"name": "scripted", "version": "1"},
            });
            let body = json!({"jsonrpc": "2.0", "id": seen.message["id"], "result": result});
            ([("content-type", "application/json")], body.to_string()).into_response()
        })
    })
    .await
}

/// A renewed token is another caller there, whose key is new: the call would run again.
#[tokio::test]
async fn a_server_that_knows_callers_by_their_tokens_honours_no_keys_of_a_client_that_renews_its_own()
 {
    for (said, is_renewed, honours) in [
        (json!({"key": "k"}), false, true),
        (json!({"key": "k"}), true, false),
        (json!({"key": "k", "identity": "stable"}), true, true),
    ] {
        let server = honouring(said).await;
        let mut connector = Http::new(&*server.url);
        if is_renewed {
            connector = connector
                .credentials(|_: Option<Challenge>| async { Ok::<_, io::Error>("t".to_owned()) });
        }
        let client = connect(connector, &Log::default()).await.unwrap();
        assert_eq!(client.catalog().honours_keys(), honours);
    }
}
