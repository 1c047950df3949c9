use crate::{call::Ticker, lock::Mutex};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

/// The requests on one connection that have no answer yet, by their progress token.
///
/// tower-mcp's client does not show whether a request reached its transport, or which request a report
/// of progress is for.
#[derive(Clone, Debug, Default)]
pub(super) struct Traffic(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    open: Mutex<HashMap<String, Open>>,
    next: AtomicI64,
}

#[derive(Debug)]
struct Open {
    ticker: Option<Ticker>,
    is_sent: bool,
}

impl Traffic {
    /// A token that no other request on this connection has.
    pub(super) fn token(&self) -> Value {
        // tower-mcp's own, if it has any, count from 1.
        const FIRST: i64 = 1 << 40;
        Value::from(FIRST + self.0.next.fetch_add(1, Relaxed))
    }

    /// Follows a request until this is dropped.
    pub(super) fn follow(&self, token: &Value, ticker: Option<Ticker>) -> Followed {
        let key = token.to_string();
        let open = Open {
            ticker,
            is_sent: false,
        };
        self.0.open.lock().insert(key.clone(), open);
        Followed {
            traffic: self.clone(),
            key,
        }
    }

    /// Notes that the transport gets a message.
    pub(super) fn sends(&self, message: &str) {
        // Only requests have one, at the place that is read then.
        if message.contains("\"progressToken\"")
            && let Ok(message) = serde_json::from_str::<Value>(message)
            && let Some(token) = message.pointer("/params/_meta/progressToken")
            && let Some(open) = self.0.open.lock().get_mut(&token.to_string())
        {
            open.is_sent = true;
        }
    }

    /// Lets a report of progress count.
    pub(super) fn receives(&self, message: &str) {
        if message.contains("\"notifications/progress\"")
            && let Ok(message) = serde_json::from_str::<Value>(message)
            && message.get("method").and_then(Value::as_str) == Some("notifications/progress")
            && let Some(token) = message.pointer("/params/progressToken")
            && let Some(open) = self.0.open.lock().get(&token.to_string())
            && let Some(ticker) = &open.ticker
        {
            ticker.tick();
        }
    }
}

/// A request without an answer.
pub(super) struct Followed {
    traffic: Traffic,
    key: String,
}

impl Followed {
    /// Whether the transport got it.
    pub(super) fn is_sent(&self) -> bool {
        let open = self.traffic.0.open.lock();
        open.get(&self.key).is_none_or(|open| open.is_sent)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.traffic.0.open.lock().remove(&self.key);
    }
}
