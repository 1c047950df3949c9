use crate::lock::RwLock;
use std::{borrow::Cow, collections::HashSet};

/// How many names there may be if the server's list is unknown.
const CAPACITY: usize = 1_000;

/// The label in place of names beyond the bound.
const OTHER: &str = "_other";

/// The names that are labels.
#[derive(Debug, Default)]
pub(super) struct Names(RwLock<HashSet<Box<str>>>);

impl Names {
    /// The name as a label.
    pub(super) fn bounded<'a>(&self, name: Cow<'a, str>, is_listed: Option<bool>) -> Cow<'a, str> {
        let is_bounded = match is_listed {
            Some(is_listed) => is_listed,
            None => self.has_room_for(&name),
        };
        if is_bounded { name } else { OTHER.into() }
    }

    fn has_room_for(&self, name: &str) -> bool {
        let known = self.0.read();
        if known.contains(name) {
            return true;
        }
        if known.len() >= CAPACITY {
            return false;
        }
        drop(known);
        let mut known = self.0.write();
        known.len() < CAPACITY && (known.insert(name.into()) || known.contains(name))
    }
}
