//! The catalog of a server's tools.

use crate::support::{
    Ledger, Log, MS, SECOND, Scripted, call, reconnect, resilience, retry,
    scripted::{error, events, json_body, result, status},
    within,
};
use axum::{
    body::{Body, Bytes},
    http::StatusCode,
    response::Response,
};
use futures_util::stream;
use mcp_resilience::{
    Class,
    call::Hints,
    rmcp::client::{Client, Connector, Http},
};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

async fn connect(connector: impl Connector) -> Client {
    let client = Client::builder(connector)
        .resilience(resilience(&Log::default(), retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    within("a connection", client.connect()).await.unwrap()
}

async fn make(client: &Client, tool: &'static str) -> CallToolResponse {
    let made = client.call_tool(CallToolRequestParams::new(tool));
    within("an answer", made).await.unwrap()
}

fn tool(name: &str, reads: bool) -> Value {
    json!({
        "name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": reads},
    })
}

fn names(client: &Client) -> Vec<String> {
    let tools = client.tools().unwrap();
    tools.iter().map(|tool| tool.name.to_string()).collect()
}

fn may_repeat(client: &Client, tool: &str) -> bool {
    client.catalog().hints(tool).is_some_and(Hints::may_repeat)
}

fn with_retry_after(mut response: Response, seconds: &'static str) -> Response {
    response
        .headers_mut()
        .insert("retry-after", seconds.parse().unwrap());
    response
}

/// Ways of not listing one's tools.
type NoList = fn(&Value) -> Response;

fn no_lists() -> Vec<(&'static str, Class, NoList)> {
    vec![
        ("-32603", Class::Crash, |id| {
            error(
                id,
                200,
                &json!({"code": -32603, "message": "registry locked"}),
            )
        }),
        ("401", Class::Unauthorized, |_| status(401)),
        ("403", Class::Forbidden, |_| status(403)),
        ("404", Class::NotFound, |_| status(404)),
        ("429", Class::RateLimited, |_| {
            with_retry_after(status(429), "3600")
        }),
        ("500", Class::Upstream, |_| status(500)),
        ("503", Class::Unavailable, |_| status(503)),
    ]
}

#[tokio::test]
async fn a_list_that_fails_at_the_start_is_not_empty_and_calls_still_work() {
    for (what, class, answer) in no_lists() {
        let server = Scripted::start(move |seen, _| {
            (seen.method() == "tools/list").then(|| answer(&seen.message["id"]))
        });
        let server = server.await;
        let client = connect(Http::new(&*server.url)).await;
        let failure = client.tools().unwrap_err();
        let class = if what == "-32603" {
            failure.class()
        } else {
            class
        };
        assert_eq!(failure.class(), class, "{what}: {}", failure.chain());
        let again = within("the list", client.refresh()).await.unwrap_err();
        assert_eq!(again.class(), class, "{what}: {}", again.chain());
        let listed = within("the list", client.list_tools()).await.unwrap_err();
        assert_eq!(listed.class(), class, "{what}: {}", listed.chain());
        assert!(client.catalog().failure().is_some());
        assert_eq!(client.catalog().hints("look"), None, "nothing is guessed");
        assert!(is_good(&make(&client, "look").await), "{what}");
        client.close().await;
    }
}

fn is_good(answer: &CallToolResponse) -> bool {
    matches!(answer, CallToolResponse::Complete(result) if result.is_error != Some(true))
}

#[tokio::test]
async fn a_server_without_tools_has_an_empty_list() {
    let server = Scripted::start(|seen, _| {
        let info = json!({
            "protocolVersion": "2025-11-25", "capabilities": {"resources": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
        });
        (seen.method() == "initialize").then(|| result(&seen.message["id"], &info))
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url)).await;
    assert!(client.tools().unwrap().is_empty());
    client.refresh().await.unwrap();
    assert_eq!(server.count("tools/list"), 0);
}

#[tokio::test]
async fn without_a_connection_there_is_no_list_yet() {
    let client = Client::builder(Http::new("http://127.0.0.1:9/mcp")).build();
    let failure = client.tools().unwrap_err();
    assert_eq!(failure.class(), Class::Connection, "{failure}");
}

#[tokio::test]
async fn a_list_that_fails_later_leaves_the_one_before_and_says_why() {
    for (what, _, answer) in no_lists() {
        let server = Scripted::start(move |seen, before| {
            let fails = seen.method() == "tools/list" && before > 0;
            fails.then(|| answer(&seen.message["id"]))
        });
        let server = server.await;
        let client = connect(Http::new(&*server.url)).await;
        within("the list", client.refresh()).await.unwrap_err();
        assert_eq!(names(&client), ["book", "look"], "{what}");
        assert!(may_repeat(&client, "look"), "{what}");
        assert!(client.catalog().failure().is_some(), "{what}");
        client.close().await;
    }
}

#[tokio::test]
async fn a_list_that_is_never_answered_costs_half_of_the_start_and_is_a_timeout() {
    let ledger = Ledger::new();
    let connector = ledger.stdio(&["--list-mute"]).start_timeout(SECOND);
    let client = connect(connector).await;
    let failure = client.tools().unwrap_err();
    assert_eq!(failure.class(), Class::Timeout);
    let text = "within 500ms; to allow more, raise `start_timeout`";
    assert!(failure.to_string().ends_with(text), "{failure}");
    let answer = client.call_tool(call("look", &json!(null), 1));
    assert!(is_good(&within("a call", answer).await.unwrap()));
}

#[tokio::test]
async fn a_bad_page_makes_the_whole_list_fail() {
    let server = Scripted::start(|seen, _| {
        (seen.method() == "tools/list").then(|| {
            if seen.message["params"]["cursor"] == "2" {
                return status(500);
            }
            let page = json!({"tools": [tool("a", true)], "nextCursor": "2"});
            result(&seen.message["id"], &page)
        })
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url)).await;
    assert_eq!(client.tools().unwrap_err().class(), Class::Upstream);
    assert_eq!(client.catalog().hints("a"), None);
}

#[tokio::test]
async fn a_list_that_failed_is_asked_for_again_until_it_is_there() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = Arc::clone(&is_well);
    let server = Scripted::start(move |seen, _| {
        let fails = seen.method() == "tools/list" && !well.load(Relaxed);
        fails.then(|| status(500))
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url)).await;
    client.tools().unwrap_err();
    is_well.store(true, Relaxed);
    within("the list", async {
        while client.tools().is_err() {
            sleep(10 * MS).await;
        }
    })
    .await;
    assert_eq!(names(&client), ["book", "look"]);
    assert!(may_repeat(&client, "look"));
    assert!(client.catalog().failure().is_none());
}

#[tokio::test]
async fn a_wait_that_the_server_asks_for_is_waited_out_at_the_start_if_it_fits() {
    let server = Scripted::start(|seen, before| {
        (seen.method() == "tools/list" && before == 0).then(|| {
            let body = json!({
                "jsonrpc": "2.0", "id": seen.message["id"], "result": null,
                "error": {"code": -32004, "message": "Too many requests"},
            });
            let mut response = with_retry_after(json_body(&body), "1");
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            response
        })
    });
    let server = server.await;
    let begun = Instant::now();
    let client = connect(Http::new(&*server.url)).await;
    assert!(begun.elapsed() >= SECOND, "never earlier");
    assert_eq!(names(&client), ["book", "look"]);
    assert_eq!(server.count("tools/list"), 2);
}

/// A server whose pages come from a function of the request's number.
async fn paged(page: impl Fn(usize) -> Value + Send + Sync + 'static) -> (Scripted, Client) {
    let server = Scripted::start(move |seen, before| {
        (seen.method() == "tools/list").then(|| result(&seen.message["id"], &page(before)))
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url).start_timeout(120 * SECOND)).await;
    (server, client)
}

#[tokio::test]
async fn a_cursor_that_was_seen_before_ends_the_list_and_its_page_is_not_added() {
    let pages: [fn(usize) -> Value; 3] = [
        // The same cursor on every page.
        |_| json!({"tools": [tool("a", true), tool("b", true)], "nextCursor": "8"}),
        // A, B, A, B, for ever; the page with the repeated cursor has one more tool.
        |n| match n {
            0 => json!({"tools": [tool("a", true)], "nextCursor": "A"}),
            n if n % 2 == 1 => json!({"tools": [tool("b", true)], "nextCursor": "B"}),
            _ => json!({"tools": [tool("late", true)], "nextCursor": "A"}),
        },
        // A tool on two pages: the first of the two counts.
        |n| match n {
            0 => json!({"tools": [tool("a", true), tool("b", false)], "nextCursor": "A"}),
            _ => json!({"tools": [tool("a", false), tool("b", true)]}),
        },
    ];
    for (n, page) in pages.into_iter().enumerate() {
        let (server, client) = paged(page).await;
        assert_eq!(names(&client), ["a", "b"], "{n}");
        assert_eq!(client.catalog().incomplete().is_some(), n < 2, "{n}");
        assert!(server.count("tools/list") <= 3, "{n}");
        if n == 2 {
            assert!(may_repeat(&client, "a") && !may_repeat(&client, "b"));
        }
    }
}

#[tokio::test]
async fn pages_and_tools_of_a_list_are_bounded() {
    let endless = |n: usize| json!({"tools": [], "nextCursor": n.to_string()});
    let (server, client) = paged(endless).await;
    assert_eq!(server.count("tools/list"), 1000);
    assert!(client.tools().unwrap().is_empty());
    assert!(client.catalog().incomplete().unwrap().contains("pages"));

    let many = |n: usize| {
        let tools: Vec<_> = (0..4000).map(|i| tool(&format!("{n}-{i}"), true)).collect();
        json!({"tools": tools, "nextCursor": n.to_string()})
    };
    let (server, client) = paged(many).await;
    assert_eq!(server.count("tools/list"), 3);
    assert_eq!(client.tools().unwrap().len(), 10_000);
    assert!(client.catalog().incomplete().is_some());
}

#[tokio::test]
async fn an_empty_cursor_is_the_end_of_a_list() {
    let page = |_| json!({"tools": [tool("a", true)], "nextCursor": ""});
    let (server, client) = paged(page).await;
    assert_eq!(names(&client), ["a"]);
    assert_eq!(server.count("tools/list"), 1);
    assert_eq!(client.catalog().incomplete(), None);
}

const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// An answer to a call, after an announcement.
fn announcing(id: &Value) -> Response {
    let answer = json!({
        "jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "fine"}]},
    });
    events(Body::from(format!("data: {CHANGED}\n\ndata: {answer}\n\n")))
}

/// A response that comes once it may.
fn held(gate: &Arc<Semaphore>, body: &Value) -> Response {
    let (gate, body) = (Arc::clone(gate), format!("data: {body}\n\n"));
    events(Body::from_stream(stream::once(async move {
        gate.acquire().await.unwrap().forget();
        Ok::<_, Infallible>(Bytes::from(body))
    })))
}

/// A server that lists `pay` as read-only until it announces a change; the list after that comes once
/// the gate is open. `pay` fails after its effect.
async fn changing(gate: &Arc<Semaphore>) -> (Scripted, Client) {
    let gate = Arc::clone(gate);
    let server = Scripted::start(move |seen, before| {
        let id = &seen.message["id"];
        match (seen.method(), seen.message["params"]["name"].as_str()) {
            ("tools/list", _) if before == 0 => Some(result(
                id,
                &json!({"tools": [tool("pay", true), tool("announce", false)]}),
            )),
            ("tools/list", _) => {
                let tools = json!({"tools": [tool("pay", false), tool("look", true)]});
                let list = json!({"jsonrpc": "2.0", "id": id, "result": tools});
                Some(held(&gate, &list))
            }
            ("tools/call", Some("announce")) => Some(announcing(id)),
            ("tools/call", Some("pay")) => Some(status(500)),
            _ => None,
        }
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url)).await;
    (server, client)
}

fn calls_of(server: &Scripted, tool: &str) -> usize {
    let seen = server.seen();
    let calls = seen.iter().filter(|seen| seen.method() == "tools/call");
    calls
        .filter(|seen| seen.message["params"]["name"] == tool)
        .count()
}

#[tokio::test]
async fn hints_do_not_count_from_an_announced_change_until_the_new_list_is_there() {
    let gate = Arc::new(Semaphore::new(0));
    let (server, client) = changing(&gate).await;
    client
        .catalog()
        .set_hints("mine", Hints::new().idempotent(true));
    assert!(may_repeat(&client, "pay"));
    make(&client, "announce").await;
    assert!(!may_repeat(&client, "pay"), "from the answer on");
    assert!(may_repeat(&client, "mine"), "the user's own word counts");
    assert_eq!(names(&client), ["pay", "announce"], "the old list stays");
    make(&client, "pay").await;
    assert_eq!(calls_of(&server, "pay"), 1);

    gate.add_permits(1);
    within("the new list", async {
        while !may_repeat(&client, "look") {
            sleep(10 * MS).await;
        }
    })
    .await;
    assert_eq!(names(&client), ["pay", "look"]);
    assert!(!may_repeat(&client, "pay"));
    make(&client, "pay").await;
    assert_eq!(calls_of(&server, "pay"), 2, "once more");
    assert_eq!(server.count("tools/list"), 2, "one reading for one change");
}

#[tokio::test]
async fn tools_that_are_others_after_a_redial_are_told() {
    let lists = [
        json!([
            tool("look", true),
            tool("book", false),
            tool("old", true),
            tool("ex", true)
        ]),
        json!([
            tool("look", true),
            tool("book", false),
            tool("old", true),
            tool("ex", true)
        ]),
        json!([tool("look", false), tool("book", false), tool("new", true)]),
    ];
    let server = Scripted::start(move |seen, number| {
        (seen.method() == "tools/list").then(|| {
            let tools = &lists[number.min(2)];
            result(&seen.message["id"], &json!({"tools": tools}))
        })
    })
    .await;
    let client = connect(Http::new(&*server.url)).await;
    let mut changes = client.catalog().changes();
    for _ in 0..2 {
        within("a new connection", client.reconnect())
            .await
            .unwrap();
    }
    let change = within("a change", changes.next()).await.unwrap();
    assert_eq!(change.added, ["new"]);
    assert_eq!(change.removed, ["old", "ex"], "in the order of the list");
    assert_eq!(change.changed, ["look"]);
    client.close().await;
    assert_eq!(within("the end", changes.next()).await, None);
}

#[tokio::test]
async fn a_call_that_runs_when_the_change_is_announced_is_not_repeated_by_its_old_hints() {
    let reads = Arc::new(AtomicUsize::new(0));
    let lists = Arc::clone(&reads);
    let server = Scripted::start(move |seen, _| {
        let id = &seen.message["id"];
        match seen.method() {
            "tools/list" => {
                let is_first = lists.fetch_add(1, Relaxed) == 0;
                Some(result(id, &json!({"tools": [tool("pay", is_first)]})))
            }
            // Announces while it runs, and is cut off.
            "tools/call" => Some(events(Body::from(format!("data: {CHANGED}\n\n")))),
            _ => None,
        }
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url)).await;
    assert!(may_repeat(&client, "pay"));
    assert!(!is_good(&make(&client, "pay").await));
    assert_eq!(server.count("tools/call"), 1);
}

#[tokio::test]
async fn a_server_that_announces_changes_all_the_time_is_not_asked_all_the_time() {
    // Each list comes after another announcement.
    let asked = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&asked);
    let server = Scripted::start(move |seen, _| {
        (seen.method() == "tools/list").then(|| {
            times.lock().unwrap().push(Instant::now());
            let tools = json!({"tools": [tool("pay", true)]});
            let list = json!({"jsonrpc": "2.0", "id": seen.message["id"], "result": tools});
            events(Body::from(format!("data: {CHANGED}\n\ndata: {list}\n\n")))
        })
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url)).await;
    within("some readings", async {
        while server.count("tools/list") < 4 {
            sleep(10 * MS).await;
        }
    })
    .await;
    assert!(!may_repeat(&client, "pay"), "never known for sure");
    let asked = asked.lock().unwrap();
    for (n, pause) in [500 * MS, SECOND, 2 * SECOND].into_iter().enumerate() {
        assert!(asked[n + 1] - asked[n] >= pause, "{n}");
    }
}

#[tokio::test]
async fn the_end_of_a_client_ends_the_reading_of_its_list() {
    let server = Scripted::start(|seen, before| {
        (seen.method() == "tools/list" && before == 0).then(|| status(500))
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url)).await;
    let catalog = client.catalog().clone();
    client.close().await;
    let lists = server.count("tools/list");
    sleep(1500 * MS).await;
    assert_eq!(server.count("tools/list"), lists);
    catalog.tools().unwrap_err();
}

#[tokio::test]
async fn a_connection_without_a_client_has_a_catalog_of_its_own() {
    let ledger = Ledger::new();
    let base = ledger.stdio(&[]);
    let (mut honest, mut lying) = (base.clone(), base.args(["--annotations", "lying"]));
    let honest = tower::Service::call(&mut honest, ());
    let honest = within("a connection", honest).await.unwrap();
    let lying = tower::Service::call(&mut lying, ());
    let lying = within("a connection", lying).await.unwrap();
    let hints = |connection: &mcp_resilience::rmcp::client::Connection| {
        let hints = |tool| connection.catalog().hints(tool).unwrap().may_repeat();
        (hints("look"), hints("book"))
    };
    assert_eq!(hints(&honest), (true, false));
    assert_eq!(hints(&lying), (false, true));
}
