//! Tools that a server lists differently than before.

use super::catalog::Shared;
use crate::text::shown_name;
use ::rmcp::model::Tool;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Weak},
};
use tokio::sync::watch;

pub(super) type ByName<'t> = HashMap<&'t str, &'t Tool>;

pub(super) fn by_name(tools: &[Tool]) -> ByName<'_> {
    tools.iter().map(|tool| (&*tool.name, tool)).collect()
}

/// Which tools a server lists in another way than before: their names, each in the order of its list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolChange {
    /// Those that were not there.
    pub added: Vec<String>,
    /// Those that are not there any more.
    pub removed: Vec<String>,
    /// Those with other hints, another schema or another text.
    pub changed: Vec<String>,
}

impl ToolChange {
    pub(super) fn between(before: &ByName<'_>, tools: &[Tool]) -> Self {
        let now = by_name(tools);
        let is_new = |tool: &&Tool| !before.contains_key(&*tool.name);
        let is_other = |tool: &&Tool| before.get(&*tool.name).is_some_and(|before| before != tool);
        let is_gone = |tool: &&&Tool| !now.contains_key(&*tool.name);
        let mut removed = names(before.values().filter(is_gone).copied());
        removed.sort_unstable();
        Self {
            added: names(tools.iter().filter(is_new)),
            removed,
            changed: names(tools.iter().filter(is_other)),
        }
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    pub(super) fn log(&self) {
        if !self.is_empty() {
            tracing::info!(
                added = shown_name(&first(&self.added)),
                removed = shown_name(&first(&self.removed)),
                changed = shown_name(&first(&self.changed)),
                "the tools of the server are others than before"
            );
        }
    }
}

fn names<'t>(tools: impl Iterator<Item = &'t Tool>) -> Vec<String> {
    tools.map(|tool| tool.name.to_string()).collect()
}

/// Names for an event: the first of them.
fn first(names: &[String]) -> String {
    names[..names.len().min(20)].join(", ")
}

/// Watches which tools a server lists in another way. Made by [`Catalog::changes`](super::Catalog::changes).
#[derive(Clone)]
pub struct ToolChanges {
    catalog: Weak<Shared>,
    news: watch::Receiver<()>,
    // As it was told last.
    tools: Option<Arc<[Tool]>>,
}

impl ToolChanges {
    pub(super) fn new(
        catalog: Weak<Shared>,
        news: watch::Receiver<()>,
        tools: Option<Arc<[Tool]>>,
    ) -> Self {
        Self {
            catalog,
            news,
            tools,
        }
    }

    /// Waits until the tools are others than when this was called last, and says which. What came and went
    /// meanwhile is not told; nothing else is missed. The first list of all is no change. `None` once the
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
                let change = ToolChange::between(&by_name(&before), &now);
                if !change.is_empty() {
                    return Some(change);
                }
            }
            self.news.changed().await.ok()?;
        }
    }
}

impl fmt::Debug for ToolChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolChanges").finish_non_exhaustive()
    }
}
