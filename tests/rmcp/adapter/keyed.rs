//! Calls with a key, through a server on rmcp.

use crate::support::{
    Desk, HttpWire, Log, Run, call, connect, connect_modern, ok, settings, text, within,
};
use axum::Router;
use mcp_resilience::{
    Failure,
    call::{Hints, IdempotencyKey, KEY_META, ToolCall},
    idempotency::{IdempotencyHandle, IdempotencyLayer, MemoryStore, REPLAYED_META, codes},
    rmcp::{Resilient, ServerAnswer, ServerCall, client::ClientCall},
};
use rmcp::{
    RoleClient, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock, MetaObject, Request,
        RequestMetaObject, ServerResult,
    },
    service::{PeerRequestOptions, RunningService},
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use serde_json::{Map, Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    net::TcpListener,
    time::{sleep, timeout},
};
use tower::Service;

const SECOND: Duration = Duration::from_secs(1);

/// A server whose outcomes are in this layer's store.
fn server(
    desk: Desk,
    layer: &IdempotencyLayer,
    log: &Log,
) -> Resilient<
    Desk,
    impl Service<ServerCall, Response = ServerAnswer, Error = Failure, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
    + use<>,
> {
    let preset = settings(log)
        .attempt_timeout(Duration::from_secs(600))
        .idempotency(layer.clone())
        .build()
        .unwrap();
    Resilient::with_preset(desk, &preset)
}

fn keyed(tool: &'static str, key: &str) -> CallToolRequestParams {
    let mut params = call(tool);
    let meta = Map::from_iter([(KEY_META.to_owned(), key.into())]);
    params.meta = Some(RequestMetaObject(MetaObject(meta)));
    params
}

/// Answers with the number of the run, after a while.
fn slow(takes: Duration) -> (Desk, Arc<AtomicU32>) {
    let ended = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&ended);
    let desk = Desk::new(move |run: Run| {
        let counted = Arc::clone(&counted);
        async move {
            sleep(takes).await;
            counted.fetch_add(1, Relaxed);
            ok(&run.number.to_string())
        }
    });
    (desk, ended)
}

fn is_replayed(result: &CallToolResult) -> bool {
    let meta = result.meta.as_ref();
    meta.is_some_and(|meta| meta.0.get(REPLAYED_META) == Some(&json!(true)))
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_found_again_by_the_next_client() {
    let (layer, log) = (IdempotencyLayer::new(), Log::default());
    let (desk, ended) = slow(70 * SECOND);
    let server = server(desk, &layer, &log);
    let first = connect(server.clone(), ()).await;
    let peer = first.peer().clone();
    let lost = tokio::spawn(async move { peer.call_tool(keyed("book", "order-1")).await });
    sleep(SECOND).await;
    // rmcp gives what runs a few seconds, and cancels it then.
    drop(first);
    assert!(lost.await.unwrap().is_err());
    sleep(30 * SECOND).await;
    assert_eq!(layer.handle().running(), 1, "it goes on without its caller");
    let second = connect(server, ()).await;
    let answer = second.call_tool(keyed("book", "order-1")).await.unwrap();
    assert_eq!((text(&answer), is_replayed(&answer)), ("1", true));
    let other = second.call_tool(keyed("book", "order-2")).await.unwrap();
    assert_eq!((text(&other), is_replayed(&other)), ("2", false));
    assert_eq!(ended.load(Relaxed), 2);
    let lines = log.all();
    let outcomes: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["outcome"].as_str().unwrap(),
                line["replayed"].is_null(),
            )
        })
        .collect();
    let expected = [("cancelled", true), ("success", false), ("success", true)];
    assert_eq!(outcomes, expected);
}

async fn begin(
    client: &RunningService<RoleClient, ()>,
    params: CallToolRequestParams,
) -> rmcp::service::RequestHandle<RoleClient> {
    let request = ClientRequest::CallToolRequest(Request::new(params));
    let options = PeerRequestOptions::no_options();
    let begun = client.send_cancellable_request(request, options).await;
    begun.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_its_client_cancels_stops_and_is_unknown() {
    for is_lost_first in [false, true] {
        let (layer, log) = (IdempotencyLayer::new(), Log::default());
        let (desk, ended) = slow(100 * SECOND);
        let client = connect(server(desk, &layer, &log), ()).await;
        let running = begin(&client, keyed("book", "order-1")).await;
        sleep(SECOND).await;
        if is_lost_first {
            // Another attempt that waits for the run may be given up, and the run goes on.
            let waiting = begin(&client, keyed("book", "order-1")).await;
            sleep(SECOND).await;
            waiting.cancel(None).await.unwrap();
            sleep(SECOND).await;
        }
        running
            .cancel(Some("the user changed her mind".to_owned()))
            .await
            .unwrap();
        sleep(SECOND).await;
        layer.handle().idle().await;
        assert_eq!(ended.load(Relaxed), 0);
        let answer = client.call_tool(keyed("book", "order-1")).await.unwrap();
        assert_eq!(answer.is_error, Some(true));
        assert!(text(&answer).contains("It may have run"), "{answer:?}");
        assert_eq!(envelope(&answer)["code"], codes::UNKNOWN);
    }
}

fn envelope(result: &CallToolResult) -> Value {
    let in_meta = || {
        let meta = result.meta.as_ref()?;
        meta.0.get(mcp_resilience::is_error::META_KEY).cloned()
    };
    result.structured_content.clone().or_else(in_meta).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_waits_for_a_run_without_a_caller() {
    for (takes, is_done) in [(8 * SECOND, true), (60 * SECOND, false)] {
        let (layer, log) = (IdempotencyLayer::new(), Log::default());
        let (desk, ended) = slow(takes);
        let server = server(desk, &layer, &log);
        let client = connect(server.clone(), ()).await;
        let peer = client.peer().clone();
        let lost = tokio::spawn(async move { peer.call_tool(keyed("book", "order-1")).await });
        sleep(SECOND).await;
        drop(client);
        let _ = lost.await;
        sleep(SECOND).await;
        server.drain(10 * SECOND).await;
        assert_eq!(ended.load(Relaxed), u32::from(is_done), "{takes:?}");
        assert_eq!(layer.handle().running(), 0, "it is cut off then");
        let key = IdempotencyKey::new("order-1").unwrap();
        let handle: &IdempotencyHandle = layer.handle();
        let settled = handle.settle_as_not_run(None, &key).await.unwrap();
        assert_eq!(settled, !is_done, "what was cut off is unknown");
    }
}

#[tokio::test(start_paused = true)]
async fn the_tool_gets_the_key() {
    let desk = Desk::new(async |run: Run| {
        let key = run.context.extensions.get::<IdempotencyKey>();
        ok(key.map_or("no key", IdempotencyKey::as_str))
    });
    let log = Log::default();
    let client = connect(server(desk, &IdempotencyLayer::new(), &log), ()).await;
    let answer = client.call_tool(keyed("book", "order-1")).await.unwrap();
    assert_eq!(text(&answer), "order-1");
    let answer = client.call_tool(call("book")).await.unwrap();
    assert_eq!(text(&answer), "no key");
}

#[tokio::test(start_paused = true)]
async fn the_tool_gets_the_key_of_an_argument_too() {
    let desk = Desk::new(async |run: Run| {
        let key = run.context.extensions.get::<IdempotencyKey>();
        ok(key.map_or("no key", IdempotencyKey::as_str))
    });
    let layer = IdempotencyLayer::builder(MemoryStore::new())
        .argument("pay", "payment.reference")
        .build()
        .unwrap();
    let log = Log::default();
    let client = connect(server(desk, &layer, &log), ()).await;
    let mut pay = call("pay");
    pay.arguments = json!({"payment": {"reference": "order-1"}})
        .as_object()
        .cloned();
    let answer = client.call_tool(pay).await.unwrap();
    assert_eq!(text(&answer), "order-1");
}

#[tokio::test(start_paused = true)]
async fn no_debug_output_of_a_call_shows_its_key_or_its_arguments() {
    let shown = Arc::new(Mutex::new(String::new()));
    let (seen, log) = (Arc::clone(&shown), Log::default());
    let (desk, _) = slow(SECOND);
    let server = server(desk, &IdempotencyLayer::new(), &log).identity(move |call| {
        *seen.lock().unwrap() = format!("{call:?}");
        None
    });
    let client = connect(server, ()).await;
    let mut params = keyed("book", "order-1");
    params.arguments = json!({"card": "4111"}).as_object().cloned();
    client.call_tool(params.clone()).await.unwrap();
    let of_server = shown.lock().unwrap().clone();
    let of_client = format!("{:?}", ClientCall::new(params.clone(), Hints::new()));
    let of_request = format!("{:?}", mcp_resilience::rmcp::Request::from(params.clone()));
    assert!(!format!("{:?}", ToolCall::arguments(&params)).contains("4111"));
    for shown in [of_server, of_client, of_request] {
        assert!(shown.contains("book"), "{shown}");
        assert!(
            !shown.contains("order-1") && !shown.contains("4111"),
            "{shown}"
        );
    }
}

/// Streamable HTTP to this server, in a session.
async fn over_http<S>(server: S) -> HttpWire
where
    S: ServerHandler + Clone,
{
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
    let client = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    within("a session", http.open(initialize.to_string())).await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    within("202", http.post(initialized.to_string())).await;
    http
}

#[tokio::test]
async fn over_http_the_key_is_in_a_header_and_each_authorization_has_its_own() {
    let (desk, ended) = slow(Duration::ZERO);
    let http = over_http(server(desk, &IdempotencyLayer::new(), &Log::default())).await;
    let ada = ("authorization", "Bearer ada");
    let bob = ("authorization", "Bearer bob");
    let key = ("idempotency-key", "\"order-1\"");
    let other = ("idempotency-key", "order-2");
    for (number, (headers, run, is_replayed)) in [
        (&[ada, key][..], "1", false),
        (&[ada, key], "1", true),
        (&[bob, key], "2", false),
        (&[key], "3", false),
        (&[ada, other], "4", false),
        (&[bob, key], "2", true),
        (&[ada], "5", false),
        (&[ada], "6", false),
    ]
    .into_iter()
    .enumerate()
    {
        let params = json!({"name": "book", "arguments": {}});
        let call =
            json!({"jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": params});
        let posted = within("an answer", http.post_with(call.to_string(), headers)).await;
        let answer: Value = serde_json::from_str(&posted.messages[0]).unwrap();
        let result = &answer["result"];
        assert_eq!(result["content"][0]["text"], run, "{headers:?}");
        let mark = &result["_meta"][REPLAYED_META];
        assert_eq!(mark == &json!(true), is_replayed, "{headers:?}");
    }
    assert_eq!(ended.load(Relaxed), 6);
}

#[tokio::test(start_paused = true)]
async fn a_server_says_that_it_honours_keys() {
    let log = Log::default();
    let name = "io.crates.mcp-resilience/idempotency";
    let capability = |client: &RunningService<RoleClient, ()>| {
        let info = client.peer_info()?;
        let experimental = info.capabilities.experimental.clone()?;
        experimental.get(name).cloned()
    };
    for is_modern in [false, true] {
        let (desk, _) = slow(SECOND);
        let with = server(desk, &IdempotencyLayer::new(), &log);
        assert!(with.get_info().capabilities.experimental.is_some());
        let client = if is_modern {
            connect_modern(with, ()).await
        } else {
            connect(with, ()).await
        };
        let told = capability(&client).unwrap();
        assert_eq!(told.get("key"), Some(&json!(KEY_META)));
    }
    let (desk, _) = slow(SECOND);
    let client = connect(Resilient::new(desk), ()).await;
    assert_eq!(capability(&client), None);
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_back_as_it_was_on_the_wire() {
    let log = Log::default();
    let desk = Desk::new(async |_: Run| {
        let mut result = CallToolResult::structured(json!({"z": null, "a": [1.5, "ü"]}));
        result.content = vec![
            ContentBlock::text("first"),
            ContentBlock::image("AAAA", "image/png"),
            ContentBlock::text(""),
        ];
        result.meta = Some(MetaObject(Map::from_iter([("own".to_owned(), json!(1))])));
        Ok(result.into())
    });
    let client = connect(server(desk, &IdempotencyLayer::new(), &log), ()).await;
    let first = client.call_tool(keyed("book", "order-1")).await.unwrap();
    let mut second = client.call_tool(keyed("book", "order-1")).await.unwrap();
    assert!(is_replayed(&second));
    second.meta.as_mut().unwrap().0.remove(REPLAYED_META);
    assert_eq!(second, first);
    let request = ClientRequest::CallToolRequest(Request::new(keyed("book", "order-1")));
    let raw = client.send_request(request).await.unwrap();
    assert!(matches!(raw, ServerResult::CallToolResult(_)));
}

#[tokio::test(start_paused = true)]
async fn a_repeat_within_the_server_is_one_run_of_the_key() {
    let log = Log::default();
    let is_busy = AtomicBool::new(true);
    let desk = Desk::new(move |run: Run| {
        let is_busy = is_busy.swap(false, Relaxed);
        async move {
            if is_busy {
                return Err(Failure::rate_limited(Some(SECOND)).before_running().into());
            }
            ok(&run.number.to_string())
        }
    });
    let client = connect(server(desk, &IdempotencyLayer::new(), &log), ()).await;
    for _ in 0..2 {
        let answer = client.call_tool(keyed("book", "order-1")).await.unwrap();
        assert_eq!(text(&answer), "2");
    }
    let lines = log.all();
    assert_eq!(
        lines[0]["attempts"], 2,
        "the run tells its call of its attempts"
    );
    assert_eq!(lines[1]["attempts"], 1);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_key_is_an_error_of_the_input() {
    let (desk, ended) = slow(SECOND);
    let layer = IdempotencyLayer::builder(MemoryStore::new())
        .require_key("pay")
        .build()
        .unwrap();
    let log = Log::default();
    let client = connect(server(desk, &layer, &log), ()).await;
    let answer = client.call_tool(keyed("book", "two words")).await.unwrap();
    assert_eq!(envelope(&answer)["code"], codes::INVALID_KEY);
    let answer = client.call_tool(call("pay")).await.unwrap();
    assert_eq!(envelope(&answer)["code"], codes::KEY_REQUIRED);
    assert_eq!(ended.load(Relaxed), 0);
    for line in log.all() {
        assert_eq!(line["class"], "invalid_input");
        assert_eq!(line["delivery"], "not_sent");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_is_waited_for_by_its_run() {
    let (desk, ended) = slow(14 * SECOND);
    let (layer, log) = (IdempotencyLayer::new(), Log::default());
    let server = server(desk, &layer, &log);
    let (near, far) = tokio::io::duplex(1 << 16);
    let serving = tokio::spawn(server.run_with_stop(far, mcp_resilience::rmcp::Stop::never()));
    let client = rmcp::ServiceExt::serve((), near).await.unwrap();
    let peer = client.peer().clone();
    let lost = tokio::spawn(async move { peer.call_tool(keyed("book", "order-1")).await });
    sleep(SECOND).await;
    drop(client);
    let _ = lost.await;
    timeout(60 * SECOND, serving)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(ended.load(Relaxed), 1);
}
