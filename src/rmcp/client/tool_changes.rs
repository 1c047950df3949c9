//! The stream of changes to a server's tools.

use super::{Catalog, catalog::Shared, tool_change::ToolChange};
use ::rmcp::model::Tool;
use std::sync::{Arc, Weak};
use tokio::sync::watch;

impl Catalog {
    /// Watches which tools the server lists differently than before, from the last list on: after a
    /// new connection, or an announcement.
    #[must_use]
    pub fn changes(&self) -> ToolChanges {
        ToolChanges {
            catalog: Arc::downgrade(&self.shared),
            news: self.news(),
            tools: self.shared.tools(),
        }
    }
}

/// Watches which tools a server lists differently. Made by [`Catalog::changes`](super::Catalog::changes).
#[derive(Clone)]
pub struct ToolChanges {
    catalog: Weak<Shared>,
    news: watch::Receiver<()>,
    // As of the last call.
    tools: Option<Arc<[Tool]>>,
}

impl ToolChanges {
    /// Waits until the tools differ from those at the last call, and returns the difference. A change
    /// that was undone in the meantime is not reported. The first list is no change. `None` once the
    /// catalog is gone, with its client.
    ///
    /// Cancel safe: a change that was not returned is returned by the next call.
    pub async fn next(&mut self) -> Option<ToolChange> {
        loop {
            self.news.borrow_and_update();
            let now = self.catalog.upgrade()?.tools();
            let before = self.tools.take();
            self.tools.clone_from(&now);
            if let (Some(before), Some(now)) = (before, now) {
                let change = ToolChange::between(&before, &now);
                if !change.is_empty() {
                    return Some(change);
                }
            }
            self.news.changed().await.ok()?;
        }
    }
}

debug_name!(ToolChanges);
