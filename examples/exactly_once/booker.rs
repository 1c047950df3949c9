use super::Fallible;
use mcp_resilience::{
    ResilienceLayer,
    backoff::Backoff,
    call::KEY_META,
    call_log::CallLogLayer,
    idempotency::codes,
    is_error::META_KEY,
    policy::Policy,
    reconnect::ReconnectLayer,
    retry::RetryLayer,
    rmcp::client::{Client, Http},
};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, MetaObject, RequestMetaObject,
};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::time::sleep;

/// How often a caller repeats a call with the same key. Each time the client makes all its
/// attempts.
const CALLS: usize = 10;

/// How a booking ended for its caller.
#[derive(Debug)]
pub(crate) enum Ending {
    Booked { number: String, is_replayed: bool },
    Unknown,
    Failed(String),
}

pub(crate) async fn connect(url: &str) -> Fallible<Client> {
    let backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1))?;
    let retry = RetryLayer::builder()
        .max_attempts(10)
        .backoff(backoff)
        .policy(Policy::new().no_budget())
        .build()?;
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .retry(retry)
        .build()?;
    let reconnect = ReconnectLayer::builder(())
        .backoff(backoff)
        .retry_first_dial()
        .build()?;
    let client = Client::builder(Http::new(url))
        .resilience(resilience)
        .reconnect(reconnect)
        .idempotency_keys();
    Ok(client.connect().await?)
}

/// Books, and repeats the call with the same key until its outcome is known.
pub(crate) async fn book(client: &Client, key: &str) -> Ending {
    let mut ending = Ending::Failed("never called".to_owned());
    for _ in 0..CALLS {
        let mut params = CallToolRequestParams::new("book");
        params.arguments = json!({"title": key, "seconds": spread(key)})
            .as_object()
            .cloned();
        let meta = Map::from_iter([(KEY_META.to_owned(), key.into())]);
        params.meta = Some(RequestMetaObject(MetaObject(meta)));
        ending = match client.call_tool(params).await {
            Ok(CallToolResponse::Complete(result)) => read(&result),
            Ok(other) => Ending::Failed(format!("{other:?}")),
            Err(failure) => Ending::Failed(failure.chain().to_string()),
        };
        if !matches!(ending, Ending::Failed(_)) {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    ending
}

/// A time of up to 20 ms, the same for all calls of a key.
fn spread(key: &str) -> f64 {
    let sum: u32 = key.bytes().map(u32::from).sum();
    f64::from(sum % 20) / 1000.0
}

fn read(result: &CallToolResult) -> Ending {
    let text = result.content.first().and_then(|block| block.as_text());
    let text = text.map_or("", |text| text.text.as_str());
    if result.is_error != Some(true) {
        let replayed = mcp_resilience::idempotency::REPLAYED_META;
        let meta = result.meta.as_ref();
        return Ending::Booked {
            number: text.to_owned(),
            is_replayed: meta.is_some_and(|meta| meta.0.contains_key(replayed)),
        };
    }
    let in_meta = || result.meta.as_ref()?.0.get(META_KEY);
    let envelope = result.structured_content.as_ref().or_else(in_meta);
    let code = envelope.and_then(|envelope| envelope.get("code"));
    match code.and_then(Value::as_str) {
        Some(codes::UNKNOWN) => Ending::Unknown,
        _ => Ending::Failed(text.to_owned()),
    }
}
