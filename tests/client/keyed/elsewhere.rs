//! Calls with a key whose attempts reach different servers, as behind a balancer or after a restart.

use super::{text, tool};
use crate::support::{
    Log, Scripted, reconnect, resilience, retry,
    scripted::{self, BodyEnd},
    within,
};
use mcp_resilience::{
    call::KEY_META,
    rmcp::{
        Answer, Request,
        client::{Client, Http},
    },
};
use serde_json::json;
use tower::{Service, ServiceExt};

/// What happens to a call.
#[derive(Clone, Copy)]
enum Fate {
    /// It does not run, because its session is unknown.
    Refused,
    /// It may run, and its connection is lost before the answer.
    Cut,
}
use Fate::{Cut, Refused};

/// The store of keys of a server, or none.
type Store = Option<&'static str>;

/// Servers with these stores, each for one session. The last has all later sessions. The first calls have
/// these fates, and later ones are answered.
async fn servers<const N: usize>(stores: [Store; N], fates: &'static [Fate]) -> Scripted {
    let server = Scripted::start(move |seen, before| match seen.method() {
        "initialize" => {
            let store = stores[before.min(N - 1)];
            let honoured = store.map(|store| json!({"key": KEY_META, "store": store}));
            let name = "io.crates.mcp-resilience/idempotency";
            let experimental = honoured.map_or(json!({}), |honoured| json!({name: honoured}));
            let info = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "experimental": experimental},
                "serverInfo": {"name": "one of several", "version": "1"},
            });
            let mut response = scripted::result(&seen.message["id"], &info);
            let session = before.to_string().parse().unwrap();
            response.headers_mut().insert("mcp-session-id", session);
            Some(response)
        }
        "tools/call" => fates.get(before).map(|fate| match fate {
            Refused => scripted::response(404, "", "Session not found", BodyEnd::InOrder),
            Cut => scripted::response(200, "application/json", "{", BodyEnd::BreaksOff),
        }),
        _ => None,
    });
    server.await
}

async fn connect(server: &Scripted) -> Client {
    let client = Client::builder(Http::new(&*server.url))
        .resilience(resilience(&Log::default(), retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap())
        .idempotency_keys();
    within("a connection", client.connect()).await.unwrap()
}

async fn call(client: &Client, name: &'static str) -> String {
    let answer = within("an answer", client.call_tool(tool(name))).await;
    text(answer.unwrap()).0
}

/// Prepares a call in this session, and makes it in the next.
async fn call_in_the_next_session(client: &Client) -> String {
    let mut service = client.clone();
    let ready = within("readiness", service.ready()).await.unwrap();
    let answer = ready.call(Request::from(tool("book")));
    within("the next", client.reconnect()).await.unwrap();
    match within("an answer", answer).await.unwrap() {
        Answer::Tool(answer) => text(answer).0,
        answer => panic!("{answer:?}"),
    }
}

#[tokio::test]
async fn a_call_that_did_not_run_is_made_again_on_a_server_that_does_not_know_its_key() {
    for other in [Some("two"), None] {
        let server = servers([Some("one"), other], &[Refused]).await;
        let client = connect(&server).await;
        assert_eq!(call(&client, "book").await, "fine");
        let calls = server.seen().into_iter();
        let mut calls = calls.filter(|seen| seen.method() == "tools/call");
        assert!(calls.all(|seen| !seen.message["params"]["_meta"][KEY_META].is_null()));
        assert_eq!(server.count("tools/call"), 2);
    }
}

#[tokio::test]
async fn a_call_that_did_not_run_on_such_a_server_is_made_again_on_its_own() {
    for other in [Some("two"), None] {
        let server = servers([Some("one"), other, Some("one")], &[Refused]).await;
        let client = connect(&server).await;
        assert_eq!(call_in_the_next_session(&client).await, "fine");
        assert_eq!(server.count("tools/call"), 2);
    }
}

/// Not even on the server that knows its key, which knows nothing of that run.
#[tokio::test]
async fn a_call_that_may_have_run_on_a_server_that_does_not_know_its_key_is_not_made_again() {
    for other in [Some("two"), None] {
        let server = servers([Some("one"), other, Some("one")], &[Refused, Cut]).await;
        let client = connect(&server).await;
        let text = call(&client, "book").await;
        assert!(text.contains("may have run"), "{text}");
        assert_eq!(server.count("tools/call"), 2);
        assert_eq!(server.count("initialize"), 3);
    }
}

#[tokio::test]
async fn a_call_whose_first_attempt_may_have_run_on_such_a_server_is_not_made_again() {
    for other in [Some("two"), None] {
        let server = servers([Some("one"), other, Some("one")], &[Cut]).await;
        let client = connect(&server).await;
        let text = call_in_the_next_session(&client).await;
        assert!(text.contains("may have run"), "{text}");
        assert_eq!(server.count("tools/call"), 1);
        assert_eq!(server.count("initialize"), 3);
    }
}

#[tokio::test]
async fn a_call_that_needs_no_key_is_made_again_on_any_server() {
    for other in [Some("two"), None] {
        let server = servers([Some("one"), other], &[Cut]).await;
        let client = connect(&server).await;
        assert_eq!(call(&client, "look").await, "fine");
        assert_eq!(server.count("tools/call"), 2);
    }
}
