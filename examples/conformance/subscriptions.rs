use crate::fixtures::typed;
use rmcp::{ErrorData, service::SubscriptionSink};
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};

/// The clients that listen for changes, in revision 2026-07-28.
#[derive(Clone, Default)]
pub(crate) struct Subscriptions(Arc<Mutex<Vec<SubscriptionSink>>>);

impl Subscriptions {
    pub(crate) fn add(&self, sink: SubscriptionSink) {
        let mut sinks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sinks.push(sink);
    }

    /// Announces the change of a list to its subscribers.
    pub(crate) async fn announce(&self, list: &str) -> Result<(), ErrorData> {
        let sinks = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for sink in sinks {
            let changed = json!({"method": format!("notifications/{list}/list_changed")});
            // The client may be gone, or have asked for other changes.
            let _ = sink.send(typed(changed)?).await;
        }
        Ok(())
    }
}
