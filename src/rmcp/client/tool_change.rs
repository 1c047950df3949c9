//! What a server lists differently than before.

use crate::text::shown_name;
use ::rmcp::model::Tool;
use std::collections::HashMap;

pub(super) type ByName<'t> = HashMap<&'t str, &'t Tool>;

pub(super) fn by_name(tools: &[Tool]) -> ByName<'_> {
    tools.iter().map(|tool| (&*tool.name, tool)).collect()
}

/// The names of tools that a server lists differently than before: `added` and `changed` in the order
/// of the new list, `removed` in the order of the old one.
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
    pub(super) fn between(before: &[Tool], now: &[Tool]) -> Self {
        let (was, is) = (by_name(before), by_name(now));
        let is_new = |tool: &&Tool| !was.contains_key(&*tool.name);
        let is_other = |tool: &&Tool| was.get(&*tool.name).is_some_and(|was| was != tool);
        let is_gone = |tool: &&Tool| !is.contains_key(&*tool.name);
        Self {
            added: names(now.iter().filter(is_new)),
            removed: names(before.iter().filter(is_gone)),
            changed: names(now.iter().filter(is_other)),
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
                "the server lists other tools than before"
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
