use super::policies::Rule;
use crate::call::{Method, ToolCall};
use std::sync::Arc;

/// The settings of one layer, and which calls they are for.
#[derive(Debug)]
pub(crate) struct Table<T> {
    // There are few names, and most differ in length: comparing is faster than hashing.
    named: Box<[(Box<str>, T)]>,
    rules: Box<[(Rule, T)]>,
    layer: T,
    /// For a call with settings of its own: the place of its policy, which may change while it runs.
    before: Option<(Arc<Self>, Place)>,
}

/// Which entry of a [`Table`] applies to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    const LAYER: Self = Self(u32::MAX);
    const LAYER_BEFORE: Self = Self(u32::MAX - 1);

    /// Entries are numbered: first those by name, then the rules.
    fn new(at: usize) -> Self {
        u32::try_from(at).map_or(Self::LAYER, Self)
    }
}

impl<T> Table<T> {
    pub(super) fn new(named: Vec<(Box<str>, T)>, rules: Vec<(Rule, T)>, layer: T) -> Self {
        Self {
            named: named.into(),
            rules: rules.into(),
            layer,
            before: None,
        }
    }

    /// A table for one call with settings of its own.
    pub(crate) fn of_call(settings: T) -> Self {
        Self {
            named: Box::default(),
            rules: Box::default(),
            layer: settings,
            before: None,
        }
    }

    /// The same, for a call whose policy in another table still counts. If that policy changes, the
    /// new one is used.
    pub(crate) fn after(self, table: Arc<Self>, place: Place) -> Self {
        Self {
            before: Some((table, place)),
            ..self
        }
    }

    /// The place of the entry for this call.
    #[inline]
    pub(crate) fn find(&self, call: &impl ToolCall) -> Place {
        if self.named.is_empty() && self.rules.is_empty() && self.before.is_none() {
            return Place::LAYER;
        }
        self.look_up(call)
    }

    /// The entry at a place.
    #[inline]
    pub(crate) fn at(&self, place: Place) -> &T {
        if place == Place::LAYER {
            return &self.layer;
        }
        let at = place.0 as usize;
        let named = self.named.get(at).map(|(_, settings)| settings);
        let rule = || self.rules.get(at.checked_sub(self.named.len())?);
        named
            .or_else(|| rule().map(|(_, settings)| settings))
            .unwrap_or_else(|| self.elsewhere(place))
    }

    /// The entry for calls without a policy.
    pub(crate) fn layer(&self) -> &T {
        &self.layer
    }

    /// In the table of the layer.
    #[cold]
    fn elsewhere(&self, place: Place) -> &T {
        match &self.before {
            Some((table, _)) if place == Place::LAYER_BEFORE => &table.layer,
            Some((table, _)) => table.at(place),
            None => &self.layer,
        }
    }

    fn look_up(&self, call: &impl ToolCall) -> Place {
        if let Some((table, place)) = &self.before {
            return match table.find(call) {
                same if same == *place => Place::LAYER,
                Place::LAYER => Place::LAYER_BEFORE,
                other => other,
            };
        }
        // A resource or a prompt may have the name of a tool.
        if !self.named.is_empty() && call.method() == Method::CallTool {
            let name = call.name();
            let place = self.named.iter().position(|(other, _)| **other == *name);
            if let Some(at) = place {
                return Place::new(at);
            }
        }
        let rule = self.rules.iter().position(|(rule, _)| rule.fits(call));
        rule.map_or(Place::LAYER, |at| Place::new(self.named.len() + at))
    }
}
