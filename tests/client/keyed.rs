//! Calls with a key are repeated even if they may have run, and run once.

mod elsewhere;

use mcp_resilience::{
    ResilienceLayer,
    backoff::{Backoff, Jitter},
    call::IdempotencyKey,
    call_log::CallLogLayer,
    idempotency::{IdempotencyLayer, REPLAYED_META},
    policy::Policy,
    reconnect::ReconnectLayer,
    retry::{RetryBuilder, RetryLayer},
    rmcp::{
        Answer, Request, Resilient,
        client::{Client, ClientBuilder, line_transport, transport_fn},
    },
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, InputRequiredResult,
        ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
        Tool, ToolAnnotations,
    },
    service::{ClientLifecycleMode, RequestContext},
};
use serde_json::{Map, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{DuplexStream, duplex},
    sync::watch,
    time::{Instant, sleep},
};
use tower::ServiceExt as _;

const SECOND: Duration = Duration::from_secs(1);

/// A ticket office: what it sold, and with which keys.
#[derive(Clone, Default)]
struct Office {
    sold: Arc<Mutex<Vec<Option<String>>>>,
    takes: Duration,
    ended: Arc<Mutex<u32>>,
    stopped: Arc<Mutex<u32>>,
}

/// A run of a tool, which counts itself if it is dropped or cancelled.
struct Run(Option<Arc<Mutex<u32>>>);

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(stopped) = &self.0 {
            *stopped.lock().unwrap() += 1;
        }
    }
}

impl Office {
    /// One whose tools take so long.
    fn taking(takes: Duration) -> Self {
        Self {
            takes,
            ..Self::default()
        }
    }

    fn sold(&self) -> Vec<Option<String>> {
        self.sold.lock().unwrap().clone()
    }
}

impl ServerHandler for Office {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let reads = ToolAnnotations::default().read_only(true);
        let tools = vec![
            Tool::new("book", "", Map::new()),
            Tool::new("list", "", Map::new()).with_annotations(reads),
        ];
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let number = {
            let mut sold = self.sold.lock().unwrap();
            let key = context.extensions.get::<IdempotencyKey>();
            sold.push(key.map(|key| key.as_str().to_owned()));
            sold.len()
        };
        // It issues one state again and again.
        let issued = (number > 1).then_some("s1");
        if params.name == "ask" && params.request_state.as_deref() != issued {
            return Err(ErrorData::invalid_params("another state", None));
        }
        if params.name == "ask" && number < 3 {
            return Ok(InputRequiredResult::from_request_state("s1").into());
        }
        let mut run = Run(Some(Arc::clone(&self.stopped)));
        // Like a handler that stops with its request.
        tokio::select! {
            () = sleep(self.takes) => {}
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("given up", None));
            }
        }
        run.0 = None;
        *self.ended.lock().unwrap() += 1;
        let text = ContentBlock::text(number.to_string());
        Ok(CallToolResult::success(vec![text]).into())
    }
}

/// Connections to one server that can all be cut at once.
#[derive(Clone)]
struct Wires {
    office: Office,
    layer: Arc<Mutex<Option<IdempotencyLayer>>>,
    cut: watch::Sender<()>,
    lifecycle: ClientLifecycleMode,
    // Without this crate, and so without limits.
    is_bare: bool,
}

impl Wires {
    fn to(office: &Office, layer: Option<IdempotencyLayer>) -> Self {
        Self {
            office: office.clone(),
            layer: Arc::new(Mutex::new(layer)),
            cut: watch::Sender::new(()),
            lifecycle: ClientLifecycleMode::Initialize,
            is_bare: false,
        }
    }

    fn keyed(office: &Office) -> Self {
        Self::to(office, Some(IdempotencyLayer::new()))
    }

    fn of_2026(self) -> Self {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        Self {
            lifecycle: ClientLifecycleMode::Discover { preferred_versions },
            ..self
        }
    }

    fn dial(&self) -> DuplexStream {
        let (near, mut middle) = duplex(1 << 16);
        let (mut other, far) = duplex(1 << 16);
        let mut cut = self.cut.subscribe();
        tokio::spawn(async move {
            tokio::select! {
                _ = tokio::io::copy_bidirectional(&mut middle, &mut other) => {}
                _ = cut.changed() => {}
            }
        });
        let log = || ResilienceLayer::builder().log(CallLogLayer::off());
        let layer = self.layer.lock().unwrap().clone();
        if self.is_bare {
            serve(self.office.clone(), far);
        } else if let Some(layer) = layer {
            let preset = log().idempotency(layer).build().unwrap();
            serve(Resilient::with_preset(self.office.clone(), &preset), far);
        } else {
            let preset = log().build().unwrap();
            serve(Resilient::with_preset(self.office.clone(), &preset), far);
        }
        near
    }
}

fn serve(server: impl ServerHandler, far: DuplexStream) {
    tokio::spawn(async move {
        if let Ok(running) = server.serve(far).await {
            let _ = running.waiting().await;
        }
    });
}

fn retry() -> RetryBuilder {
    let backoff = Backoff::new(SECOND / 10, SECOND).unwrap();
    RetryLayer::builder()
        .max_attempts(5)
        .backoff(backoff)
        .jitter(Jitter::none())
}

/// However long the waits are.
fn patient() -> RetryBuilder {
    retry().policy(Policy::new().no_retry_window())
}

fn builder(
    wires: &Wires,
    retry: RetryBuilder,
    limit: Duration,
) -> ClientBuilder<impl mcp_resilience::rmcp::client::Connector + use<>> {
    let (wires, lifecycle) = (wires.clone(), wires.lifecycle.clone());
    let connector = transport_fn(move || {
        let (reader, writer) = tokio::io::split(wires.dial());
        async move { Ok::<_, std::io::Error>(line_transport(reader, writer)) }
    });
    let connector = connector.lifecycle(lifecycle);
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .retry(retry.build().unwrap())
        .attempt_timeout(limit)
        .build()
        .unwrap();
    Client::builder(connector)
        .resilience(resilience)
        .reconnect(ReconnectLayer::new(()))
}

/// A client that gives keys to a server that honours them.
async fn connect(wires: &Wires, retry: RetryBuilder, limit: Duration) -> Client {
    let client = builder(wires, retry, limit).idempotency_keys();
    client.connect().await.unwrap()
}

/// Books, and loses the connection after a second.
async fn book_and_lose(client: &Client, wires: &Wires) -> (String, bool) {
    let cut = async {
        sleep(SECOND).await;
        wires.cut.send_replace(());
    };
    let (answer, ()) = tokio::join!(client.call_tool(tool("book")), cut);
    text(answer.unwrap())
}

fn tool(name: &'static str) -> CallToolRequestParams {
    CallToolRequestParams::new(name)
}

fn text(response: CallToolResponse) -> (String, bool) {
    let CallToolResponse::Complete(result) = response else {
        panic!("{response:?}");
    };
    let is_replayed = result
        .meta
        .is_some_and(|meta| meta.0.contains_key(REPLAYED_META));
    (
        result.content[0].as_text().unwrap().text.clone(),
        is_replayed,
    )
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_answer_was_lost_is_made_again_runs_once_and_brings_its_answer() {
    let office = Office::taking(3 * SECOND);
    let wires = Wires::keyed(&office);
    let client = connect(&wires, retry(), 60 * SECOND).await;
    let answer = book_and_lose(&client, &wires).await;
    assert_eq!(answer, ("1".to_owned(), true));
    let sold = office.sold();
    assert_eq!(sold.len(), 1, "{sold:?}");
    assert_eq!(sold[0].as_ref().unwrap().len(), 32, "a random key");
}

#[tokio::test(start_paused = true)]
async fn without_the_setting_or_the_servers_capability_nothing_is_repeated() {
    for (is_on, is_honoured) in [(false, true), (true, false)] {
        let office = Office::taking(3 * SECOND);
        let wires = Wires::to(&office, is_honoured.then(IdempotencyLayer::new));
        let mut client = builder(&wires, retry(), 60 * SECOND);
        if is_on {
            client = client.idempotency_keys();
        }
        let client = client.connect().await.unwrap();
        assert_eq!(client.catalog().honours_keys(), is_honoured);
        let (text, _) = book_and_lose(&client, &wires).await;
        assert!(text.contains("may have run"), "{text}");
        assert_eq!(office.sold(), [None]);
    }
}

#[tokio::test(start_paused = true)]
async fn all_rounds_of_a_call_have_one_key() {
    let office = Office::default();
    let wires = Wires::keyed(&office).of_2026();
    let client = connect(&wires, retry(), 60 * SECOND).await;
    let answer = client.call("ask", json!({})).await.unwrap();
    assert_eq!(text(answer.into()), ("3".to_owned(), false));
    let sold = office.sold();
    assert_eq!(sold.len(), 3);
    assert!(
        sold[0].is_some() && sold.iter().all(|key| *key == sold[0]),
        "{sold:?}"
    );
}

/// Such a server could take the second round for a repeat of the first.
#[tokio::test(start_paused = true)]
async fn each_round_has_a_key_of_its_own_for_a_server_that_does_not_say_that_it_honours_keys() {
    let key = IdempotencyKey::new("order-123").unwrap();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let office = Office::default();
        let wires = Wires::to(&office, None).of_2026();
        let client = builder(&wires, retry(), SECOND).always_idempotency_keys();
        let client = client.connect().await.unwrap();
        let call = client.call("ask", json!({})).idempotency_key(&key);
        assert_eq!(text(call.await.unwrap().into()), ("3".to_owned(), false));
        let keys: Vec<_> = office.sold().into_iter().map(Option::unwrap).collect();
        assert_eq!(keys.len(), 3);
        assert_eq!(keys[0], "order-123");
        assert!(keys[1] != keys[0] && keys[2] != keys[1], "{keys:?}");
        seen.push(keys);
    }
    assert_eq!(seen[0], seen[1], "the same in another process");
}

#[tokio::test(start_paused = true)]
async fn as_a_service_the_client_gives_keys_too() {
    let office = Office::taking(30 * SECOND);
    let wires = Wires::keyed(&office);
    let client = connect(&wires, patient(), 10 * SECOND).await;
    let answer = client.oneshot(Request::from(tool("book"))).await.unwrap();
    let Answer::Tool(answer) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(text(answer), ("1".to_owned(), true));
    let sold = office.sold();
    assert_eq!(sold.len(), 1, "{sold:?}");
    assert_eq!(sold[0].as_ref().unwrap().len(), 32, "a random key");
    assert_eq!(*office.ended.lock().unwrap(), 1);
}

/// A run may go on for longer than rmcp leaves a request whose connection is gone.
#[tokio::test(start_paused = true)]
async fn a_run_that_lost_its_connection_is_not_told_to_give_up() {
    let office = Office::taking(20 * SECOND);
    let wires = Wires::keyed(&office);
    let client = connect(&wires, retry(), 60 * SECOND).await;
    let answer = book_and_lose(&client, &wires).await;
    assert_eq!(answer, ("1".to_owned(), true));
    assert_eq!(office.sold().len(), 1);
}

/// As after a restart of a server whose store is in its memory, and behind a balancer.
#[tokio::test(start_paused = true)]
async fn a_call_is_not_repeated_on_a_server_that_does_not_know_its_key() {
    for next in [Some(IdempotencyLayer::new()), None] {
        let office = Office::taking(3 * SECOND);
        let wires = Wires::keyed(&office);
        let client = connect(&wires, retry(), 60 * SECOND).await;
        let cut = async {
            sleep(SECOND).await;
            *wires.layer.lock().unwrap() = next;
            wires.cut.send_replace(());
        };
        let (answer, ()) = tokio::join!(client.call_tool(tool("book")), cut);
        let (text, _) = text(answer.unwrap());
        assert!(text.contains("may have run"), "{text}");
        assert_eq!(office.sold().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn only_tools_that_may_not_run_twice_get_a_key() {
    let office = Office::default();
    let wires = Wires::to(&office, None);
    let client = builder(&wires, retry(), SECOND).always_idempotency_keys();
    let client = client.connect().await.unwrap();
    client.call_tool(tool("list")).await.unwrap();
    client.call_tool(tool("book")).await.unwrap();
    let key = IdempotencyKey::new("order-123").unwrap();
    let named = client.call("book", json!({})).idempotency_key(&key);
    named.await.unwrap();
    let sold = office.sold();
    assert_eq!(sold[0], None);
    assert_eq!(sold[1].as_ref().map(String::len), Some(32));
    assert_eq!(
        sold[2].as_deref(),
        Some("order-123"),
        "the caller's own stays"
    );
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_the_client_does_not_cancel_the_run() {
    let office = Office::taking(30 * SECOND);
    let layer = IdempotencyLayer::new();
    let wires = Wires::to(&office, Some(layer.clone()));
    let client = connect(&wires, patient(), 10 * SECOND).await;
    let answer = client.call_tool(tool("book")).await.unwrap();
    assert_eq!(text(answer), ("1".to_owned(), true));
    assert_eq!(*office.ended.lock().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_the_last_attempt_abandons_goes_on_however_long_it_takes() {
    let office = Office::taking(600 * SECOND);
    let wires = Wires::keyed(&office);
    let client = connect(&wires, retry().max_attempts(1), 10 * SECOND).await;
    let answer = client.call_tool(tool("book")).await.unwrap();
    assert!(text(answer).0.contains("may have run"));
    sleep(600 * SECOND).await;
    assert_eq!(*office.ended.lock().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn closing_a_client_does_not_cancel_a_run_that_its_limits_abandoned() {
    let office = Office::taking(600 * SECOND);
    let wires = Wires::keyed(&office);
    let client = connect(&wires, retry().max_attempts(1), 10 * SECOND).await;
    let answer = client.call_tool(tool("book")).await.unwrap();
    assert!(text(answer).0.contains("may have run"));
    client.close().await;
    sleep(600 * SECOND).await;
    assert_eq!(*office.ended.lock().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn closing_a_client_ends_abandoned_attempts_on_a_connection_that_is_held_elsewhere() {
    let office = Office::taking(600 * SECOND);
    let wires = Wires::keyed(&office);
    let client = connect(&wires, retry().max_attempts(1), 10 * SECOND).await;
    let held = client.connection().unwrap();
    let answer = client.call_tool(tool("book")).await.unwrap();
    assert!(text(answer).0.contains("may have run"));
    let begun = Instant::now();
    client.close().await;
    // Only for the end of the connection.
    assert_eq!(begun.elapsed(), 8 * SECOND);
    sleep(SECOND).await;
    assert_eq!(*office.stopped.lock().unwrap(), 1);
    assert!(!held.peer().is_transport_closed());
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_answers_keeps_256_abandoned_attempts_at_most_for_an_hour_at_most() {
    let office = Office::taking(24 * 3600 * SECOND);
    let wires = Wires {
        is_bare: true,
        ..Wires::to(&office, None)
    };
    let client = builder(&wires, retry().max_attempts(1), 10 * SECOND).always_idempotency_keys();
    let client = client.connect().await.unwrap();
    let stopped = || *office.stopped.lock().unwrap();
    for (calls, expected) in [(256, 0), (3, 3)] {
        for _ in 0..calls {
            let answer = client.call_tool(tool("book")).await.unwrap();
            assert!(text(answer).0.contains("may have run"));
        }
        sleep(SECOND).await;
        assert_eq!(stopped(), expected);
    }
    sleep(3600 * SECOND).await;
    assert_eq!(stopped(), 259);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_drops_its_call_cancels_the_run() {
    let office = Office::taking(30 * SECOND);
    let layer = IdempotencyLayer::new();
    let wires = Wires::to(&office, Some(layer.clone()));
    let client = connect(&wires, patient(), 10 * SECOND).await;
    // In the second attempt, when the run is of the first.
    let dropped = tokio::time::timeout(15 * SECOND, client.call_tool(tool("book")));
    assert!(dropped.await.is_err());
    sleep(60 * SECOND).await;
    assert_eq!(office.sold().len(), 1);
    assert_eq!(*office.ended.lock().unwrap(), 0);
    assert_eq!(layer.handle().running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_trusted_is_not_trusted_with_keys() {
    let office = Office::taking(3 * SECOND);
    let wires = Wires::keyed(&office);
    let client = connect(&wires, retry().distrust_server(), 60 * SECOND).await;
    let answer = book_and_lose(&client, &wires).await;
    assert!(answer.0.contains("may have run"));
    assert_eq!(office.sold().len(), 1);
}
