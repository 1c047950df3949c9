use super::target::Target;
use std::collections::HashMap;
use tokio::time::Instant;

/// From this number on, targets whose wait is over are removed, even if their pace is not.
const MANY: usize = 1_024;

/// The targets with a hint.
///
/// A target that is closed, or that a call waits for, is never forgotten: a call would go out earlier
/// than the server asked.
#[derive(Debug)]
pub(super) struct Targets {
    known: HashMap<u64, Target>,
    // The number at which to look for targets to forget. It doubles, so that hints stay cheap.
    sweep_at: usize,
}

impl Default for Targets {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            sweep_at: MANY,
        }
    }
}

impl Targets {
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    pub(super) fn get(&mut self, target: u64) -> Option<&mut Target> {
        self.known.get_mut(&target)
    }

    pub(super) fn remove(&mut self, target: u64) {
        self.known.remove(&target);
    }

    /// The target, for a hint.
    pub(super) fn get_or_add(
        &mut self,
        target: u64,
        now: Instant,
        new: impl FnOnce() -> Target,
    ) -> &mut Target {
        if self.known.len() >= self.sweep_at {
            self.sweep(now);
        }
        self.known.entry(target).or_insert_with(new)
    }

    fn sweep(&mut self, now: Instant) {
        self.known.retain(|_, target| !target.has_opened(now));
        self.sweep_at = MANY.max(2 * self.known.len());
        self.known.shrink_to(self.sweep_at);
    }
}
