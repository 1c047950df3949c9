//! Tools that a server lists differently than before.

use crate::text::shown_name;
use ::rmcp::model::Tool;
use std::collections::HashMap;

pub(super) type ByName<'t> = HashMap<&'t str, &'t Tool>;

pub(super) fn by_name(tools: &[Tool]) -> ByName<'_> {
    tools.iter().map(|tool| (&*tool.name, tool)).collect()
}

/// Logs the tools that are listed differently than before.
pub(super) fn tell(before: &ByName<'_>, tools: &[Tool]) {
    let now = by_name(tools);
    let added = tools
        .iter()
        .filter(|tool| !before.contains_key(&*tool.name));
    let removed = before
        .values()
        .filter(|tool| !now.contains_key(&*tool.name));
    let is_other = |tool: &&Tool| before.get(&*tool.name).is_some_and(|before| before != tool);
    let changed = tools.iter().filter(is_other);
    let (added, removed, changed) = (names(added), names(removed.copied()), names(changed));
    if !(added.is_empty() && removed.is_empty() && changed.is_empty()) {
        tracing::info!(
            added = shown_name(&added),
            removed = shown_name(&removed),
            changed = shown_name(&changed),
            "the tools of the server are others than before"
        );
    }
}

/// The first names, for an event.
fn names<'t>(tools: impl Iterator<Item = &'t Tool>) -> String {
    let names: Vec<_> = tools.take(20).map(|tool| &*tool.name).collect();
    names.join(", ")
}
