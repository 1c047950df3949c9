use super::SCAN_LIMIT;
use std::{cell::Cell, ops::Deref};

/// How many bytes all rules together may read in one text. Without it, a crafted text could make
/// each rule read the whole rest at each position.
const MOST: usize = 64 * SCAN_LIMIT;

/// A text, and how many bytes of it may still be read.
pub(super) struct Source<'t> {
    pub(super) text: &'t str,
    left: Cell<usize>,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let left = Cell::new(MOST);
        Self { text, left }
    }

    /// Counts bytes that a rule has read.
    pub(super) fn charge(&self, read: usize) {
        self.left.set(self.left.get().saturating_sub(read));
    }

    /// Whether no more may be read. Then the rest is masked, since it was not searched.
    pub(super) fn is_used_up(&self) -> bool {
        self.left.get() == 0
    }

    #[cfg(test)]
    pub(super) fn cost(&self) -> usize {
        MOST - self.left.get()
    }
}

/// How many of the last bytes are of one kind, up to a number.
pub(super) fn count_back(bytes: &[u8], most: usize, is_one: impl Fn(u8) -> bool) -> usize {
    let last = bytes.iter().rev().take(most);
    last.take_while(|byte| is_one(**byte)).count()
}

impl Deref for Source<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.text
    }
}
