use super::Unreadable;
use crate::{
    lock::Mutex,
    rmcp::wire::{Told, skipped},
};
use std::{error::Error, fmt, sync::Arc};

/// The texts of a connection that were no messages: how many, and the last.
#[derive(Clone, Debug, Default)]
pub(in crate::rmcp::client) struct Unread(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    count: u64,
    last: Option<Unreadable>,
    told: Told,
}

impl Unread {
    /// Reports one, at a limited rate, and keeps it for the waiting calls.
    pub(in crate::rmcp::client) fn tell(&self, text: Unreadable) {
        let mut seen = self.0.lock();
        seen.count = seen.count.saturating_add(text.count());
        seen.last = Some(text.clone());
        let event = seen.told.event(&text);
        drop(seen);
        let Some(untold) = event else {
            return;
        };
        let failure = skipped("tool server", text);
        tracing::warn!(error = %failure.chain(), untold = untold, "skipped what the tool server wrote");
    }

    pub(in crate::rmcp::client) fn count(&self) -> u64 {
        self.0.lock().count
    }

    /// The texts that were skipped after this number.
    pub(in crate::rmcp::client) fn since(&self, count: u64) -> Option<Skipped> {
        let seen = self.0.lock();
        let new = seen.count.saturating_sub(count);
        let last = seen.last.clone().filter(|_| new > 0)?;
        Some(Skipped {
            count: new,
            last,
            source: None,
        })
    }
}

/// Texts that came while a call waited, and were not its answer.
#[derive(Debug)]
pub(in crate::rmcp::client) struct Skipped {
    count: u64,
    last: Unreadable,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Skipped {
    /// Adds what else is known about the failure.
    pub(in crate::rmcp::client) fn because(
        mut self,
        source: Option<Arc<dyn Error + Send + Sync>>,
    ) -> Self {
        self.source = source;
        self
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, last, .. } = self;
        write!(
            f,
            "{count} text(s) of the server were not messages, the last: {last}"
        )
    }
}

impl Error for Skipped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| &**source as &(dyn Error + 'static))
    }
}
