//! What an observer sees of a client's calls and connections.

use crate::support::{Ledger, Log, call, reconnect, resilience, retry, within};
use mcp_resilience::{observe::Event, rmcp::client::Client};
use serde_json::json;
use std::sync::{Arc, Mutex};

#[tokio::test]
async fn the_death_of_a_server_and_its_return_are_seen_in_order() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let lines = Arc::clone(&seen);
    let observer = move |event: &Event<'_>| {
        let line = match *event {
            Event::RetryScheduled { call, failure, .. } => {
                let (tool, attempt) = (call.name(), call.attempt().unwrap());
                format!(
                    "repeats {tool} after attempt {attempt}: {}",
                    failure.class()
                )
            }
            Event::GaveUp { call, stopped, .. } => format!("gave up {}: {stopped}", call.name()),
            Event::Connected { generation, .. } => format!("connected {generation}"),
            Event::ConnectionLost { generation, .. } => format!("lost {generation}"),
            _ => event.kind().to_owned(),
        };
        lines.lock().unwrap().push(line);
    };
    let client = Client::builder(ledger.stdio(&[]))
        .resilience(
            resilience(&log, retry())
                .observer(observer)
                .build()
                .unwrap(),
        )
        .reconnect(reconnect().build().unwrap());
    let client = client.connect().await.unwrap();

    let dies = json!({"kind": "die_before"});
    // The server counts the arrivals of both: the second attempt of the first one is answered.
    for (tool, times) in [("look", 1), ("book", 3)] {
        let answer = client.call_tool(call(tool, &dies, times));
        within("an answer", answer).await.unwrap();
    }
    within("the end", client.close()).await;

    assert_eq!(
        *seen.lock().unwrap(),
        [
            "dialing",
            "connected 1",
            "lost 1",
            "repeats look after attempt 1: connection",
            "dialing",
            "connected 2",
            "lost 2",
            "gave up book: may_have_run",
        ]
    );
}
