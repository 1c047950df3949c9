use super::policies::Rule;
use crate::call::{Method, ToolCall};

/// Which settings of one layer apply to which calls.
#[derive(Debug)]
pub(crate) struct Table<T> {
    // Sorted by name. There are few, and comparing beats hashing.
    named: Box<[(Box<str>, T)]>,
    rules: Box<[(Rule, T)]>,
    layer: T,
}

impl<T> Table<T> {
    pub(super) fn new(mut named: Vec<(Box<str>, T)>, rules: Vec<(Rule, T)>, layer: T) -> Self {
        named.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Self {
            named: named.into(),
            rules: rules.into(),
            layer,
        }
    }

    /// What applies to this call.
    #[inline]
    pub(crate) fn of(&self, call: &impl ToolCall) -> &T {
        if self.named.is_empty() && self.rules.is_empty() {
            return &self.layer;
        }
        self.look_up(call)
    }

    /// What applies to calls without a policy.
    pub(crate) fn layer(&self) -> &T {
        &self.layer
    }

    fn look_up(&self, call: &impl ToolCall) -> &T {
        // A resource or a prompt may have the name of a tool.
        if !self.named.is_empty() && call.method() == Method::CallTool {
            let name = call.name();
            let place = self
                .named
                .binary_search_by(|(other, _)| (**other).cmp(name));
            if let Some((_, settings)) = place.ok().and_then(|at| self.named.get(at)) {
                return settings;
            }
        }
        let mut rules = self.rules.iter();
        let rule = rules.find(|(rule, _)| rule.fits(call));
        rule.map_or(&self.layer, |(_, settings)| settings)
    }
}
