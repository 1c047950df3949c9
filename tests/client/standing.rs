//! The standing stream, and messages before an answer.
use crate::support::{
    Log, MS, SECOND, Scripted, reconnect, resilience, retry,
    scripted::{events, result, status},
    within,
};
use axum::{body::Body, response::Response};
use mcp_resilience::rmcp::client::{Client, Http};
use rmcp::{ClientHandler, RoleClient, service::NotificationContext};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

/// The answer to `initialize`, with a session: only then a client opens the standing stream.
fn session(id: &Value) -> Response {
    let mut response = result(
        id,
        &json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
        }),
    );
    let name = "s1".parse().unwrap();
    response.headers_mut().insert("mcp-session-id", name);
    response
}

/// Hears of new lists of tools.
#[derive(Clone, Default)]
struct Ear(Arc<Notify>);

impl ClientHandler for Ear {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.notify_one();
    }
}

async fn connect<H: ClientHandler + Clone>(connector: Http<H>) -> Client {
    let client = Client::builder(connector)
        .resilience(resilience(&Log::default(), retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    within("a connection", client.connect()).await.unwrap()
}

#[tokio::test]
async fn the_standing_stream_is_opened_again_after_an_outage_of_the_server() {
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let server = Scripted::start(move |seen, before| match (seen.verb.as_str(), before) {
        ("POST", _) if seen.method() == "initialize" => Some(session(&seen.message["id"])),
        ("GET", 0) => Some(events(Body::from(": here\n\n"))),
        ("GET", 1) => Some(status(404)),
        ("GET", 3) => Some(events(Body::from(format!("data: {changed}\n\n")))),
        ("GET", _) => Some(status(503)),
        _ => None,
    });
    let server = server.await;
    let ear = Ear::default();
    let client = connect(Http::new(&*server.url).handler(ear.clone())).await;
    within("the notification", ear.0.notified()).await;
    client.close().await;
}

#[tokio::test]
async fn a_standing_stream_that_could_not_be_opened_at_first_is_opened_later() {
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let server = Scripted::start(move |seen, before| match (seen.verb.as_str(), before) {
        ("POST", _) if seen.method() == "initialize" => Some(session(&seen.message["id"])),
        ("GET", 0) => Some(status(503)),
        ("GET", _) => Some(events(Body::from(format!("data: {changed}\n\n")))),
        _ => None,
    });
    let server = server.await;
    let ear = Ear::default();
    let client = connect(Http::new(&*server.url).handler(ear.clone())).await;
    within("the notification", ear.0.notified()).await;
    client.close().await;
}

#[tokio::test]
async fn messages_on_the_standing_stream_are_corrected_too() {
    for odd in [
        json!({"jsonrpc": "2.0", "id": null, "method": "notifications/tools/list_changed"}),
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": []}),
        json!({"method": "notifications/tools/list_changed"}),
        json!([{"level": "info"}, {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]),
    ] {
        let body = format!("data: no json\n\ndata: {odd}\n\n");
        let server = Scripted::start(move |seen, before| match (seen.verb.as_str(), before) {
            ("POST", _) if seen.method() == "initialize" => Some(session(&seen.message["id"])),
            ("GET", 0) => Some(events(Body::from(body.clone()))),
            ("GET", _) => Some(status(503)),
            _ => None,
        });
        let server = server.await;
        let ear = Ear::default();
        let client = connect(Http::new(&*server.url).handler(ear.clone())).await;
        within(&format!("the notification {odd}"), ear.0.notified()).await;
        client.close().await;
    }
}

#[tokio::test]
async fn a_standing_stream_that_is_refused_for_a_while_is_opened_later() {
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    for code in [401, 403] {
        let changed = changed.clone();
        let server = Scripted::start(move |seen, before| match (seen.verb.as_str(), before) {
            ("POST", _) if seen.method() == "initialize" => Some(session(&seen.message["id"])),
            ("GET", 0) => Some(status(code)),
            ("GET", _) => Some(events(Body::from(format!("data: {changed}\n\n")))),
            _ => None,
        });
        let server = server.await;
        let ear = Ear::default();
        let client = connect(Http::new(&*server.url).handler(ear.clone())).await;
        within(&format!("the notification after {code}"), ear.0.notified()).await;
        client.close().await;
    }
}

#[tokio::test]
async fn a_server_whose_standing_streams_end_at_once_is_not_flooded() {
    let third = Arc::new(Notify::new());
    let opened = Arc::clone(&third);
    let server = Scripted::start(move |seen, before| {
        if seen.verb == "GET" {
            if before == 2 {
                opened.notify_one();
            }
            return Some(events(Body::from("retry: 0\n\n")));
        }
        (seen.method() == "initialize").then(|| session(&seen.message["id"]))
    });
    let server = server.await;
    let begun = Instant::now();
    let client = connect(Http::new(&*server.url)).await;
    within("the third stream", third.notified()).await;
    // Pauses of 1 s and 2 s.
    assert!(begun.elapsed() >= 3 * SECOND, "{:?}", begun.elapsed());
    client.close().await;
}

#[tokio::test]
async fn a_server_without_a_standing_stream_is_asked_once() {
    for code in [404, 405, 501] {
        let gets = Arc::new(AtomicUsize::new(0));
        let (first, count) = (Arc::new(Notify::new()), Arc::clone(&gets));
        let asked = Arc::clone(&first);
        let server = Scripted::start(move |seen, _| {
            if seen.verb == "GET" {
                count.fetch_add(1, Relaxed);
                asked.notify_one();
                return Some(status(code));
            }
            (seen.method() == "initialize").then(|| session(&seen.message["id"]))
        });
        let server = server.await;
        let client = connect(Http::new(&*server.url)).await;
        within("the first", first.notified()).await;
        // Later than a second try would come.
        sleep(2 * SECOND).await;
        assert_eq!(gets.load(Relaxed), 1, "{code}");
        client.close().await;
    }
}

#[tokio::test]
async fn no_stream_is_opened_again_earlier_than_the_server_asked() {
    let opened = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen_at = Arc::clone(&opened);
    let server = Scripted::start(move |seen, before| {
        if seen.method() == "initialize" {
            return Some(session(&seen.message["id"]));
        }
        (seen.verb == "GET").then(|| {
            seen_at.lock().unwrap().push(Instant::now());
            let wait = |code: u16| {
                let mut response = status(code);
                let wait = "4".parse().unwrap();
                response.headers_mut().insert("retry-after", wait);
                response
            };
            match before {
                0 => wait(429),
                1 => wait(503),
                2 => events(Body::from("retry: 5000\n\n")),
                _ => events(Body::from(": here\n\n")),
            }
        })
    });
    let server = server.await;
    let client = connect(Http::new(&*server.url)).await;
    within("four streams", async {
        while opened.lock().unwrap().len() < 4 {
            sleep(20 * MS).await;
        }
    })
    .await;
    client.close().await;
    let at = opened.lock().unwrap().clone();
    for (wait, pair) in [4, 4, 5].into_iter().zip(at.windows(2)) {
        let pause = pair[1] - pair[0];
        assert!(pause >= wait * SECOND, "{pause:?} is less than {wait} s");
    }
}

#[tokio::test]
async fn the_standing_stream_has_a_source_of_credentials_asked_three_times_at_most_in_an_outage() {
    let server = Scripted::start(|seen, _| {
        if seen.verb == "GET" {
            return Some(status(401));
        }
        (seen.method() == "initialize").then(|| session(&seen.message["id"]))
    });
    let server = server.await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let connector = Http::new(&*server.url).credentials(move |_| {
        let number = count.fetch_add(1, Relaxed);
        async move { Ok::<_, std::io::Error>(format!("token-{number}")) }
    });
    let client = connect(connector).await;
    // Two for each try that has the source asked, and one for the next.
    within("four tries", async {
        while server
            .seen()
            .iter()
            .filter(|seen| seen.verb == "GET")
            .count()
            < 7
        {
            sleep(20 * MS).await;
        }
    })
    .await;
    assert_eq!(asked.load(Relaxed), 1 + 3, "once at the dial");
    client.close().await;
}
