use crate::text::{first, shown};
use std::{error::Error, fmt};

/// How much of a text is shown, in bytes.
pub(in crate::rmcp) const BEGINNING: usize = 200;

/// How much of it is read for secrets.
const READ: usize = 4 * BEGINNING;

/// The longest reason, in bytes. Bounded, because it may quote the peer.
pub(in crate::rmcp) const REASON: usize = 300;

/// An unreadable text of the peer: the reason, its length, and its beginning.
#[derive(Clone, Debug)]
pub(in crate::rmcp) struct Unreadable {
    pub(in crate::rmcp) reason: String,
    pub(in crate::rmcp) length: usize,
    pub(in crate::rmcp) beginning: String,
    /// How many others there were in the same line, body or event.
    pub(in crate::rmcp) more: u64,
}

impl Unreadable {
    pub(in crate::rmcp) fn new(reason: impl AsRef<str>, text: &str) -> Self {
        Self::of_length(reason, text, text.len())
    }

    /// A text whose beginning alone was kept.
    pub(in crate::rmcp) fn of_length(
        reason: impl AsRef<str>,
        beginning: &str,
        length: usize,
    ) -> Self {
        // Masked at once: it may be reported with another call than the one that it quotes.
        Self {
            reason: shown(reason.as_ref(), REASON),
            length,
            beginning: shown(first(beginning, READ), BEGINNING),
            more: 0,
        }
    }

    pub(in crate::rmcp) fn and_more(mut self, more: u64) -> Self {
        self.more = more;
        self
    }

    pub(in crate::rmcp) fn count(&self) -> u64 {
        self.more.saturating_add(1)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            reason,
            length,
            beginning,
            more,
        } = self;
        write!(f, "{reason}; it has {length} bytes")?;
        if !beginning.is_empty() {
            write!(f, " and begins with: {beginning}")?;
        }
        if *more > 0 {
            write!(f, "; and {more} more")?;
        }
        Ok(())
    }
}

impl Error for Unreadable {}
