//! State that the clones of one wrapper share, where HTTP makes one for each session.

use crate::support::{Desk, HttpWire, Log, Run, ok, retry, settings, within};
use axum::Router;
use mcp_resilience::{Failure, backoff::Backoff, rmcp::Resilient};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::local::LocalSessionManager,
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::net::TcpListener;
use tower::retry::budget::Budget;

/// Refuses for ever, or fails for good.
fn desk() -> Desk {
    Desk::new(|run: Run| async move {
        match &*run.params.name {
            "fatal" => Err(Failure::fatal("the shelf is gone").into()),
            "fine" => ok("fine"),
            _ => Err(Failure::rate_limited(None).before_running().into()),
        }
    })
}

/// Two sessions with one server, each with a handler that the factory made for it.
async fn sessions(server: Resilient<Desk>) -> [HttpWire; 2] {
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().nest_service("/mcp", service);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let initialize = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    });
    let mut sessions = [HttpWire::new(&url), HttpWire::new(&url)];
    for session in &mut sessions {
        within("a session", session.open(initialize.to_string())).await;
    }
    assert_ne!(sessions[0].session(), sessions[1].session());
    sessions
}

async fn call_over(http: &HttpWire, id: u32, tool: &str) -> Value {
    let message = json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool},
    });
    let posted = within("an answer", http.post(message.to_string())).await;
    let answers = posted.messages.iter();
    let mut answers = answers.map(|text| serde_json::from_str::<Value>(text).unwrap());
    let answer = answers.find(|answer| answer["id"] == id);
    answer.unwrap_or_else(|| panic!("no answer: {posted:#?}"))
}

/// This many repeats for any duration of the calls, since time is real over HTTP.
#[derive(Debug)]
struct Allowance(AtomicUsize);

impl Budget for Allowance {
    fn deposit(&self) {}

    fn withdraw(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.0.fetch_update(Relaxed, Relaxed, one_less).is_ok()
    }
}

#[tokio::test]
async fn sessions_over_http_share_the_budget_and_the_end() {
    let log = Log::default();
    let at_once = Backoff::new(Duration::from_millis(1), Duration::from_millis(1)).unwrap();
    let ten = Arc::new(Allowance(AtomicUsize::new(10)));
    let retry = retry().backoff(at_once).shared_budget(ten).build().unwrap();
    let preset = settings(&log).retry(retry).build().unwrap();
    let server = Resilient::with_preset(desk(), &preset);
    let attempts = server.handler().attempts();
    let handle = server.fatal_handle().clone();
    let [first, second] = sessions(server).await;

    for id in 1..=5 {
        call_over(&first, id, "refused").await;
    }
    assert_eq!(attempts.so_far().len(), 15, "ten repeats");
    let answer = call_over(&second, 1, "refused").await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(attempts.so_far().len(), 16, "none is left");

    call_over(&first, 6, "fatal").await;
    let answer = call_over(&second, 2, "fine").await;
    assert_eq!(
        answer["error"]["message"],
        "the tool server is out of service"
    );
    assert!(handle.cause().is_some());
    assert_eq!(log.all().len(), 8, "one line each, in one log");
}
