//! What an observer sees of dials, connections and probes.

use super::{
    Answering, Ask, Connection, Dial, LOSE, MINUTE, MS, SECOND, Server, exact, fail, refused,
    spawn, who,
};
use crate::support::{Seen, traced};
use mcp_resilience::{
    Class, Failure,
    observe::{Event, Observer},
    reconnect::ReconnectHandle,
};
use serde_json::json;
use std::{
    future::pending,
    sync::{Arc, Mutex, OnceLock},
};
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};

#[tokio::test(start_paused = true)]
async fn dials_connections_and_their_ends_are_told_in_order() {
    let seen = Seen::new();
    let server = Server::new([refused(), Dial::Takes(500 * MS)]);
    let tools = server.connect(exact().observer(seen.clone()));
    assert_eq!(who(&tools).await, 1);
    fail(&tools, LOSE).await;
    assert_eq!(who(&tools).await, 2);
    assert_eq!(
        seen.lines(),
        [
            "0 dialing 1",
            "0 dial_failed 1 connection",
            "1000 dialing 2",
            "1500 connected 2 gives 1",
            "1500 connection_lost 1 connection",
            "3500 dialing 3",
            "3500 connected 3 gives 2",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_several_calls_lose_is_lost_once() {
    let seen = Seen::new();
    let tools = Server::new([]).connect(exact().observer(seen.clone()));
    who(&tools).await;
    let late = Ask::After(SECOND, Some(Class::Connection));
    let calls = [spawn(&tools, late.clone()).await, spawn(&tools, late).await];
    for call in calls {
        assert!(call.await.unwrap().is_err());
    }
    let lost = |line: &&String| line.contains("connection_lost");
    assert_eq!(seen.lines().iter().filter(lost).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_probe_and_its_failure_are_told() {
    for is_alive in [true, false] {
        let seen = Seen::new();
        let server = Server::new([]);
        let connector = service_fn(move |()| server.clone().dial());
        let probe = move |_: Connection| -> Answering {
            let dead = || Failure::connection("reset by peer").into();
            Box::pin(async move { if is_alive { Ok(0) } else { Err(dead()) } })
        };
        let probe = move |connection| {
            let answer = probe(connection);
            async move { answer.await.map(drop) }
        };
        let layer = exact().observer(seen.clone()).probe(probe).build();
        let tools = layer.unwrap().layer(connector);
        fail(&tools, Ask::Fail(Class::Timeout)).await;
        sleep(MS).await;
        let mut expected = vec!["0 dialing 1", "0 connected 1 gives 1", "0 probe_started 1"];
        if !is_alive {
            expected.extend([
                "0 probe_failed 1 connection",
                "0 connection_lost 1 connection",
            ]);
        }
        assert_eq!(seen.lines(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_ends_with_the_last_clone_is_told_as_begun_only() {
    let seen = Seen::new();
    let held = Arc::new(());
    let server = Server::new([Dial::Hangs(Arc::clone(&held))]);
    let tools = server.connect(exact().observer(seen.clone()));
    let call = spawn(&tools, Ask::Who).await;
    sleep(SECOND).await;
    call.abort();
    drop(tools);
    sleep(MINUTE).await;
    assert_eq!(Arc::strong_count(&held), 1, "the dial is over");
    assert_eq!(seen.lines(), ["0 dialing 1"]);
}

/// Asks the layer about itself, as an observer may.
#[derive(Clone, Default)]
struct Asks {
    handle: Arc<OnceLock<ReconnectHandle<Connection>>>,
    states: Arc<Mutex<Vec<String>>>,
}

impl Observer for Asks {
    fn on_event(&self, event: &Event<'_>) {
        let handle = self.handle.get().unwrap();
        let state = (event.kind(), handle.is_connected(), handle.generation());
        self.states.lock().unwrap().push(format!("{state:?}"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_may_ask_the_layer_that_tells_it() {
    let asks = Asks::default();
    let tools = Server::new([]).connect(exact().observer(asks.clone()));
    assert!(asks.handle.set(tools.handle()).is_ok());
    who(&tools).await;
    fail(&tools, LOSE).await;
    assert_eq!(
        *asks.states.lock().unwrap(),
        [
            "(\"dialing\", false, 0)",
            "(\"connected\", true, 1)",
            "(\"connection_lost\", false, 1)",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn without_an_observer_lost_connections_and_failed_dials_are_events_of_tracing() {
    let events = traced(async || {
        let tools = Server::new([refused()]).connect(exact());
        who(&tools).await;
        fail(&tools, LOSE).await;
    })
    .await;
    let ours = |event: &&serde_json::Value| event["target"] == "mcp_resilience::reconnect";
    let fields: Vec<_> = events
        .iter()
        .filter(ours)
        .map(|event| &event["fields"])
        .collect();
    assert_eq!(fields.len(), 2, "{events:#?}");
    assert_eq!(fields[0]["message"], "cannot connect to the tool server");
    assert_eq!(fields[0]["class"], "connection");
    assert_eq!(
        *fields[1],
        json!({
            "message": "connection lost, the next call gets a new one",
            "generation": 1,
            "class": "connection",
            "error": "as told",
        })
    );
    let watched = async || {
        let tools = Server::new([refused()]).connect(exact().observer(|_: &Event<'_>| {}));
        who(&tools).await;
    };
    assert_eq!(traced(watched).await.iter().filter(ours).count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_first_dial_that_never_ends_is_told_once_it_is_too_late() {
    let seen = Seen::new();
    let connector = service_fn(async |()| pending::<Result<Connection, Failure>>().await);
    let settings = exact().dial_timeout(2 * SECOND).ready_timeout(3 * SECOND);
    let tools = settings.observer(seen.clone()).build().unwrap();
    tools.layer(connector).oneshot(Ask::Who).await.unwrap_err();
    assert_eq!(seen.lines(), ["0 dialing 1", "2000 dial_failed 1 timeout"]);
}
