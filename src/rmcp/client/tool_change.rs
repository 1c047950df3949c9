//! What a server lists differently than before.

use crate::text::shown_name;
use ::rmcp::model::Tool;
use std::collections::HashMap;

pub(super) type ByName<'t> = HashMap<&'t str, &'t Tool>;

pub(super) fn by_name(tools: &[Tool]) -> ByName<'_> {
    tools.iter().map(|tool| (&*tool.name, tool)).collect()
}

/// The names of tools that a server lists differently than before, each in the order of its list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolChange {
    /// Tools that were not listed before.
    pub added: Vec<String>,
    /// Tools that are no longer listed.
    pub removed: Vec<String>,
    /// Tools with other hints, another schema or another text.
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

    pub(super) fn is_empty(&self) -> bool {
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

/// The first names, for an event.
fn first(names: &[String]) -> String {
    names[..names.len().min(20)].join(", ")
}
