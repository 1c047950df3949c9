//! Requests of a running tool to the client.
#![expect(
    deprecated,
    reason = "roots are the request that a peer can always make"
)]

use crate::support::{
    Desk, HttpWire, Log, Run, WAIT, assert_has, call, connect, ok, preset, text, within,
};
use axum::Router;
use mcp_resilience::{Failure, rmcp::Resilient};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{CallToolResponse, ListRootsResult, Root, ToolAnnotations},
    service::RequestContext,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::{net::TcpListener, time::Instant};

/// A client with one root.
#[derive(Debug)]
struct Rooted;

impl ClientHandler for Rooted {
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///books")]))
    }
}

/// Fails once, and then answers with the client's first root.
async fn first_root(run: Run) -> Result<CallToolResponse, ErrorData> {
    let roots = run.context.peer.list_roots().await;
    let roots = roots.map_err(Failure::crash)?;
    match run.number {
        1 => Err(Failure::rate_limited(None).before_running().into()),
        _ => ok(&roots.roots[0].uri),
    }
}

fn asking() -> Desk {
    Desk::new(first_root).annotated("ask", ToolAnnotations::new().read_only(true))
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_ask_the_client_in_every_attempt() {
    let log = Log::default();
    let server = Resilient::with_preset(asking(), &preset(&log));
    let client = connect(server, Rooted).await;
    let begun = Instant::now();
    let answer = client.call_tool(call("ask")).await.unwrap();
    assert_eq!(text(&answer), "file:///books");
    assert_eq!(begun.elapsed(), WAIT);
    assert_has(&log.only(), &json!({"outcome": "success", "attempts": 2}));
}

#[tokio::test]
async fn over_http_the_question_comes_on_the_stream_of_the_call() {
    let log = Log::default();
    let server = Resilient::with_preset(asking(), &preset(&log));
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().nest_service("/mcp", service);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });

    let mut http = HttpWire::new(&url);
    let initialize = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    });
    within("a session", http.open(initialize.to_string())).await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    within("202", http.post(initialized.to_string())).await;

    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        // With a token, so that what the tool sends is looked at.
        "params": {"name": "ask", "_meta": {"progressToken": 7}},
    });
    // No other stream is open on which it could come.
    let mut stream = within("a stream", http.begin(call.to_string())).await;
    for attempt in 1..=2 {
        let question = within("a question", stream.next()).await;
        let question: Value = serde_json::from_str(&question.expect("one")).unwrap();
        assert_eq!(question["method"], "roots/list", "attempt {attempt}");
        let answer = json!({
            "jsonrpc": "2.0", "id": question["id"],
            "result": {"roots": [{"uri": "file:///books"}]},
        });
        let posted = within("202", http.post(answer.to_string())).await;
        assert_eq!(posted.status, 202);
    }
    let answer = within("the answer", stream.next()).await;
    let answer: Value = serde_json::from_str(&answer.expect("one")).unwrap();
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["content"][0]["text"], "file:///books");
    assert_has(&log.only(), &json!({"outcome": "success", "attempts": 2}));
}
