use super::SCAN_LIMIT;
use std::{cell::Cell, ops::Deref};

/// How much the rules may read of a text of the longest kind, all together. Values overlap, and a
/// text can be made of which each rule reads all that follows, at each place.
const MOST: usize = 64 * SCAN_LIMIT;

/// A text, and how much may still be read of it.
pub(super) struct Source<'t> {
    pub(super) text: &'t str,
    left: Cell<usize>,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let left = Cell::new(MOST);
        Self { text, left }
    }

    /// Counts what a rule has read.
    pub(super) fn charge(&self, read: usize) {
        self.left.set(self.left.get().saturating_sub(read));
    }

    /// Whether no more may be read: then nobody knows what is secret in the rest.
    pub(super) fn is_used_up(&self) -> bool {
        self.left.get() == 0
    }

    #[cfg(test)]
    pub(super) fn cost(&self) -> usize {
        MOST - self.left.get()
    }
}

impl Deref for Source<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.text
    }
}
