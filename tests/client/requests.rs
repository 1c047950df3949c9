//! Requests of a client other than calls.
#![expect(
    deprecated,
    reason = "MCP has deprecated the logging level, and servers still have it"
)]

use crate::support::{
    Log, MS, SECOND, Scripted, reconnect, resilience, retry,
    scripted::{Seen, error, events, result, status},
    within,
};
use axum::{body::Body, response::Response};
use mcp_resilience::{
    Class, Failure,
    rmcp::client::{Client, Http},
};
use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, LoggingLevel, PaginatedRequestParams, Reference,
    SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams,
};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};
use tokio::time::sleep;

async fn connect(url: &str) -> Client {
    let client = Client::builder(Http::new(url))
        .resilience(resilience(&Log::default(), retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap())
        .request_timeout(2 * SECOND);
    within("a connection", client.connect()).await.unwrap()
}

/// Answers well.
fn answer(seen: &Seen) -> Option<Response> {
    let id = &seen.message["id"];
    let good = match seen.method() {
        "prompts/list" => json!({"prompts": [{"name": "p"}]}),
        "resources/list" => json!({"resources": [{"uri": "file:///a", "name": "a"}]}),
        "resources/templates/list" => {
            json!({"resourceTemplates": [{"uriTemplate": "file:///{a}", "name": "a"}]})
        }
        "completion/complete" => json!({"completion": {"values": ["one"]}}),
        "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" | "ping" => json!({}),
        _ => return None,
    };
    Some(result(id, &good))
}

/// Opens sessions, and forgets all but the newest on request.
async fn forgetful(words: &'static str) -> (Scripted, Arc<AtomicU32>) {
    let (opened, oldest) = (AtomicU32::new(0), Arc::new(AtomicU32::new(0)));
    let valid_from = Arc::clone(&oldest);
    let server = Scripted::start(move |seen, _| {
        if seen.method() == "initialize" {
            let mut response = result(
                &seen.message["id"],
                &json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}, "resources": {"subscribe": true}, "prompts": {},
                        "completions": {}, "logging": {}},
                    "serverInfo": {"name": "forgetful", "version": "1"},
                }),
            );
            let session = opened.fetch_add(1, Relaxed) + 1;
            let session = session.to_string().parse().unwrap();
            response.headers_mut().insert("mcp-session-id", session);
            return Some(response);
        }
        let session = seen.headers.get("mcp-session-id")?;
        let session: u32 = session.to_str().unwrap().parse().unwrap();
        if session < valid_from.load(Relaxed) {
            let mut response = status(404);
            *response.body_mut() = Body::from(words);
            return Some(response);
        }
        answer(seen)
    });
    (server.await, oldest)
}

type Made<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

type Request = (&'static str, fn(&Client) -> Made<'_>);

/// Every request of a client other than calls, by its method.
fn requests() -> Vec<Request> {
    fn one<T: PartialEq + std::fmt::Debug>(items: &[T]) {
        assert_eq!(items.len(), 1, "{items:?}");
    }
    vec![
        ("tools/list", |client| {
            Box::pin(async { client.list_tools().await.map(drop) })
        }),
        ("prompts/list", |client| {
            Box::pin(async { client.list_prompts().await.map(|list| one(&list)) })
        }),
        ("resources/list", |client| {
            Box::pin(async { client.list_resources().await.map(|list| one(&list)) })
        }),
        ("resources/templates/list", |client| {
            Box::pin(async {
                client
                    .list_resource_templates()
                    .await
                    .map(|list| one(&list))
            })
        }),
        ("completion/complete", |client| {
            Box::pin(async {
                let argument = ArgumentInfo::new("a", "o");
                let params = CompleteRequestParams::new(Reference::for_prompt("p"), argument);
                client.complete(params).await.map(drop)
            })
        }),
        ("resources/subscribe", |client| {
            Box::pin(client.subscribe(SubscribeRequestParams::new("file:///a")))
        }),
        ("resources/unsubscribe", |client| {
            Box::pin(client.unsubscribe(UnsubscribeRequestParams::new("file:///a")))
        }),
        ("logging/setLevel", |client| {
            Box::pin(client.set_level(SetLevelRequestParams::new(LoggingLevel::Info)))
        }),
        ("ping", |client| Box::pin(client.ping())),
    ]
}

#[tokio::test]
async fn every_request_is_made_again_in_a_new_session_when_the_server_forgot_the_old_one() {
    let (server, oldest) = forgetful("Session not found").await;
    let client = connect(&server.url).await;
    for (n, (method, request)) in (2..).zip(requests()) {
        oldest.store(n, Relaxed);
        let before = server.count(method);
        within(method, request(&client)).await.unwrap();
        assert_eq!(client.handle().generation(), u64::from(n), "{method}");
        // In the old session, in the new one, and a dial lists the tools and restores what was subscribed.
        let at_the_dial = usize::from(matches!(method, "tools/list" | "resources/subscribe"));
        let (made, needed) = (server.count(method) - before, 2 + at_the_dial);
        // The ping in each new session comes at any time.
        let more = if method == "ping" { 2 } else { 0 };
        assert!((needed..=needed + more).contains(&made), "{method}: {made}");
        within(method, request(&client)).await.unwrap();
        assert_eq!(client.handle().generation(), u64::from(n), "{method}");
    }
}

#[tokio::test]
async fn a_request_that_does_no_harm_is_made_again_when_a_404_does_not_say_why() {
    let (server, oldest) = forgetful("").await;
    let client = connect(&server.url).await;
    oldest.store(2, Relaxed);
    within("a list", client.list_prompts()).await.unwrap();
    // Of a request of the user's own that is not known.
    oldest.store(3, Relaxed);
    let own = client.with_peer(|peer| async move { peer.list_prompts(None).await });
    let failure = within("a request", own).await.unwrap_err();
    assert_eq!(failure.class(), Class::SessionLost);
    within("the next", client.ping()).await.unwrap();
    assert_eq!(client.handle().generation(), 3);
}

#[tokio::test]
async fn requests_of_the_users_own_are_not_made_again_together() {
    let (server, oldest) = forgetful("Session not found").await;
    let client = connect(&server.url).await;
    let made = client.with_peer(|peer| async move {
        peer.set_level(SetLevelRequestParams::new(LoggingLevel::Info))
            .await?;
        // The server forgets the session after the first of them had its effect.
        oldest.store(2, Relaxed);
        peer.list_prompts(None).await
    });
    let failure = within("two requests", made).await.unwrap_err();
    assert_eq!(failure.class(), Class::SessionLost);
    assert_eq!(server.count("logging/setLevel"), 1);
    let again = client.with_peer(|peer| async move { peer.list_prompts(None).await });
    assert_eq!(within("a list", again).await.unwrap().prompts.len(), 1);
    assert_eq!(client.handle().generation(), 2);
}

#[tokio::test]
async fn a_request_waits_for_the_connection_that_comes_next() {
    let (server, _) = forgetful("Session not found").await;
    let client = Client::builder(Http::new(&*server.url)).build();
    within("a list", client.list_prompts()).await.unwrap();
    assert_eq!(client.handle().generation(), 1);
}

#[tokio::test]
async fn a_request_that_fails_is_classified_and_not_repeated() {
    let server = Scripted::start(|seen, _| match seen.method() {
        "prompts/list" => {
            let mut response = status(429);
            let headers = response.headers_mut();
            headers.insert("retry-after", "7".parse().unwrap());
            Some(response)
        }
        "resources/list" => Some(status(401)),
        "resources/subscribe" => {
            let unknown = json!({"code": -32002, "message": "no such resource"});
            Some(error(&seen.message["id"], 200, &unknown))
        }
        _ => None,
    });
    let server = server.await;
    let client = connect(&server.url).await;
    let failure = within("a list", client.list_prompts()).await.unwrap_err();
    assert_eq!(failure.class(), Class::RateLimited);
    assert_eq!(failure.retry_after(), Some(7 * SECOND));
    let failure = within("a list", client.list_resources()).await.unwrap_err();
    assert_eq!(failure.class(), Class::Unauthorized);
    let subscribe = client.subscribe(SubscribeRequestParams::new("file:///a"));
    let failure = within("a request", subscribe).await.unwrap_err();
    assert_eq!(failure.rpc_error().unwrap().code, -32002);
    for method in ["prompts/list", "resources/list", "resources/subscribe"] {
        assert_eq!(server.count(method), 1, "{method}");
    }
    assert_eq!(client.handle().generation(), 1);
}

#[tokio::test]
async fn a_request_that_is_not_answered_ends_at_the_request_timeout() {
    let server = Scripted::start(|seen, _| {
        let never = futures_util::stream::pending::<Result<Vec<u8>, Infallible>>();
        (seen.method() == "prompts/list").then(|| events(Body::from_stream(never)))
    });
    let server = server.await;
    let client = connect(&server.url).await;
    let failure = within("a list", client.list_prompts()).await.unwrap_err();
    assert_eq!(failure.class(), Class::Timeout);
    let text = "no answer within 2s; to allow more, raise `request_timeout`";
    assert_eq!(failure.to_string(), text);
}

#[tokio::test]
async fn a_request_that_is_dropped_is_cancelled_at_the_server() {
    let server = Scripted::start(|seen, _| {
        let never = futures_util::stream::pending::<Result<Vec<u8>, Infallible>>();
        (seen.method() == "prompts/list").then(|| events(Body::from_stream(never)))
    });
    let server = server.await;
    let client = connect(&server.url).await;
    let listing = tokio::spawn({
        let client = client.clone();
        async move { client.list_prompts().await }
    });
    wait_for(&server, "prompts/list").await;
    listing.abort();
    wait_for(&server, "notifications/cancelled").await;
}

async fn wait_for(server: &Scripted, method: &'static str) {
    within(method, async {
        while server.count(method) == 0 {
            sleep(5 * MS).await;
        }
    })
    .await;
}

#[tokio::test]
async fn lists_have_all_pages_and_each_item_once() {
    let page = |seen: &Seen| -> Option<Value> {
        let cursor = seen.message["params"]["cursor"].as_str();
        let n = usize::from(cursor.is_some());
        let (names, next) = ([["a", "b"], ["b", "c"]][n], [Some("2"), None][n]);
        let items = |of: fn(&str) -> Value| names.map(of);
        let mut page = match seen.method() {
            "prompts/list" => json!({"prompts": items(|name| json!({"name": name}))}),
            "resources/list" => {
                json!({"resources": items(|name| json!({"uri": name, "name": "same"}))})
            }
            "resources/templates/list" => json!({
                "resourceTemplates": items(|name| json!({"uriTemplate": name, "name": "same"}))
            }),
            _ => return None,
        };
        if let Some(next) = next {
            page["nextCursor"] = json!(next);
        }
        Some(page)
    };
    let server = Scripted::start(move |seen, _| {
        let page = page(seen)?;
        Some(result(&seen.message["id"], &page))
    });
    let server = server.await;
    let client = connect(&server.url).await;
    let prompts = within("a list", client.list_prompts()).await.unwrap();
    let resources = within("a list", client.list_resources()).await.unwrap();
    let templates = within("a list", client.list_resource_templates())
        .await
        .unwrap();
    let lists = [
        prompts
            .iter()
            .map(|prompt| &*prompt.name)
            .collect::<String>(),
        resources.iter().map(|resource| &*resource.uri).collect(),
        templates
            .iter()
            .map(|template| &*template.uri_template)
            .collect(),
    ];
    assert_eq!(lists, ["abc", "abc", "abc"]);
    let one = PaginatedRequestParams::default();
    let one = client.with_peer(|peer| async move { peer.list_prompts(Some(one)).await });
    assert_eq!(within("a page", one).await.unwrap().prompts.len(), 2);
}

#[tokio::test]
async fn a_list_that_is_cut_short_is_a_failure() {
    let prompts = |n: usize| -> Vec<_> {
        (0..4000)
            .map(|i| json!({"name": format!("{n}-{i}")}))
            .collect()
    };
    let server = Scripted::start(move |seen, before| {
        let page = match seen.method() {
            "resources/list" => json!({"resources": [], "nextCursor": "again"}),
            "resources/templates/list" => {
                json!({"resourceTemplates": [], "nextCursor": before.to_string()})
            }
            "prompts/list" => json!({"prompts": prompts(before), "nextCursor": before.to_string()}),
            _ => return None,
        };
        Some(result(&seen.message["id"], &page))
    });
    let server = server.await;
    let client = Client::builder(Http::new(&*server.url)).request_timeout(300 * SECOND);
    let client = within("a connection", client.connect()).await.unwrap();
    let failures = [
        client.list_resources().await.map(drop).unwrap_err(),
        client
            .list_resource_templates()
            .await
            .map(drop)
            .unwrap_err(),
        client.list_prompts().await.map(drop).unwrap_err(),
    ];
    let texts = [
        "the list of resources is incomplete, because the server repeats a cursor",
        "the list of resource templates is incomplete, because the server lists more than 1,000 pages",
        "the list of prompts is incomplete, because the server lists more than 10,000 items",
    ];
    for (failure, text) in failures.iter().zip(texts) {
        assert_eq!(failure.class(), Class::InvalidOutput);
        let text = format!("{text}; to read the pages, use `with_peer`");
        assert_eq!(failure.to_string(), text);
    }
    assert_eq!(client.handle().generation(), 1, "the connection works");
}
