//! Calls with a key, through a router in this process.

use mcp_resilience::{
    ResilienceLayer,
    call::IdempotencyKey,
    call_log::CallLogLayer,
    idempotency::{IdempotencyLayer, MemoryStore, REPLAYED_META},
    preset::Resilience,
    timeout::Timeout,
    tower_mcp::{ResilientLayer, RouterService},
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::{sleep, timeout};
use tower::Layer;
use tower_mcp::{
    CallToolResult, JsonRpcRequest, JsonRpcService, McpRouter, ToolBuilder,
    extract::{Context, RawArgs},
    protocol::{CancelledParams, McpNotification, RequestId},
    router::Extensions,
};

/// The preset with keys, around a router.
type Stack = Resilience<Timeout<RouterService>, IdempotencyLayer>;

const SECOND: Duration = Duration::from_secs(1);

/// A router whose tool takes a second, and answers with the number of its run and the key.
struct Office {
    router: McpRouter,
    ended: Arc<AtomicU32>,
    layer: IdempotencyLayer,
    server: ResilientLayer<Stack>,
}

impl Office {
    fn new(layer: IdempotencyLayer) -> Self {
        let (begun, ended) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let counted = Arc::clone(&ended);
        let tool = ToolBuilder::new("book")
            .extractor_handler((), move |context: Context, _: RawArgs| {
                let run = begun.fetch_add(1, Relaxed) + 1;
                let counted = Arc::clone(&counted);
                async move {
                    sleep(SECOND).await;
                    counted.fetch_add(1, Relaxed);
                    let key = context.extension::<IdempotencyKey>();
                    let key = key.map_or("no key", IdempotencyKey::as_str);
                    Ok(CallToolResult::text(format!("{run}: {key}")))
                }
            })
            .build();
        let preset = ResilienceLayer::builder()
            .log(CallLogLayer::off())
            .idempotency(layer.clone())
            .build()
            .unwrap();
        Self {
            router: McpRouter::new().tool(tool),
            ended,
            layer,
            server: ResilientLayer::with_preset(&preset),
        }
    }

    /// Sends a request, as a transport does.
    async fn send(&self, id: i64, method: &str, params: Value, extensions: Extensions) -> Value {
        let service = JsonRpcService::new(self.server.layer(self.router.clone()));
        let request = JsonRpcRequest::new(id, method).with_params(params);
        let mut service = service.with_extensions(extensions);
        json!(service.call_single(request).await.unwrap())
    }

    async fn initialize(&self) -> Value {
        let client = json!({"name": "raw", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let answer = self.send(0, "initialize", params, Extensions::new()).await;
        self.router
            .handle_notification(McpNotification::Initialized);
        answer
    }

    /// The text of the tool's answer, and whether it was kept.
    async fn book(&self, id: i64, key: Option<&str>, arguments: Value) -> (String, bool) {
        let mut extensions = Extensions::new();
        if let Some(key) = key {
            extensions.insert(IdempotencyKey::new(key).unwrap());
        }
        let params = json!({"name": "book", "arguments": arguments});
        let answer = self.send(id, "tools/call", params, extensions).await;
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        (text.to_owned(), result["_meta"][REPLAYED_META] == true)
    }
}

fn of(text: &str, is_replayed: bool) -> (String, bool) {
    (text.to_owned(), is_replayed)
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_key_runs_once_and_the_tool_gets_the_key() {
    let layer = IdempotencyLayer::builder(MemoryStore::new());
    let office = Office::new(layer.argument("book", "reference").build().unwrap());
    office.initialize().await;
    let first = office.book(1, Some("order-1"), json!({})).await;
    assert_eq!(first, of("1: order-1", false));
    let again = office.book(2, Some("order-1"), json!({})).await;
    assert_eq!(again, of("1: order-1", true));
    let by_argument = json!({"reference": "order-2"});
    let other = office.book(3, None, by_argument.clone()).await;
    assert_eq!(other, of("2: order-2", false));
    assert_eq!(
        office.book(4, None, by_argument).await,
        of("2: order-2", true)
    );
    assert_eq!(
        office.book(5, None, json!({})).await,
        of("3: no key", false)
    );
    let (conflict, _) = office.book(6, Some("order-1"), json!({"seat": 2})).await;
    assert!(conflict.contains("other arguments"), "{conflict}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_gets_no_keys_in_meta_does_not_say_that_it_honours_them() {
    let office = Office::new(IdempotencyLayer::new());
    let answer = office.initialize().await;
    let experimental = &answer["result"]["capabilities"]["experimental"];
    let said = &experimental["io.crates.mcp-resilience/idempotency"];
    assert_eq!(*said, Value::Null, "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_caller_is_gone_goes_on_and_one_that_is_cancelled_stops() {
    for is_cancelled in [false, true] {
        let office = Office::new(IdempotencyLayer::new());
        office.initialize().await;
        let call = office.book(1, Some("order-1"), json!({}));
        if is_cancelled {
            let cancel = async {
                sleep(SECOND / 2).await;
                let id = Some(RequestId::Number(1));
                let params = CancelledParams {
                    request_id: id,
                    reason: None,
                    meta: None,
                };
                office
                    .router
                    .handle_notification(McpNotification::Cancelled(params));
            };
            // tower-mcp leaves it without an answer.
            let _ = timeout(10 * SECOND, async { tokio::join!(call, cancel) }).await;
        } else {
            assert!(timeout(SECOND / 2, call).await.is_err());
        }
        office.layer.handle().idle().await;
        assert_eq!(office.ended.load(Relaxed), u32::from(!is_cancelled));
        let (text, is_replayed) = office.book(2, Some("order-1"), json!({})).await;
        assert_eq!(is_replayed, !is_cancelled, "{text}");
        assert_eq!(text.contains("may have run"), is_cancelled, "{text}");
    }
}
