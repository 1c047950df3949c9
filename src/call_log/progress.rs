use std::{
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{
            AtomicU64, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::Duration,
};

/// How many lines went in and came out.
#[derive(Debug, Default)]
pub(super) struct Progress {
    lost: AtomicU64,
    /// Lines taken and not yet dealt with.
    pending: AtomicU64,
    /// How many wait for that to become none.
    waiting: AtomicUsize,
    lock: Mutex<()>,
    none: Condvar,
}

impl Progress {
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    pub(super) fn add(&self) {
        self.pending.fetch_add(1, SeqCst);
    }

    /// Whether no line is pending but the one that is being dealt with.
    pub(super) fn is_last(&self) -> bool {
        self.pending.load(SeqCst) <= 1
    }

    pub(super) fn done(&self, was_written: bool) {
        if !was_written {
            self.lost.fetch_add(1, Relaxed);
        }
        // In this order, and `wait` in the other one: one of the two sees the other.
        let is_last = self.pending.fetch_sub(1, SeqCst) == 1;
        if is_last && self.waiting.load(SeqCst) > 0 {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.none.notify_all();
        }
    }

    /// Waits until no line is pending, at most so long.
    pub(super) fn wait(&self, at_most: Duration) {
        self.waiting.fetch_add(1, SeqCst);
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let is_pending = |(): &mut ()| self.pending.load(SeqCst) > 0;
        // Drained or timed out: nobody waits longer.
        drop(self.none.wait_timeout_while(lock, at_most, is_pending));
        self.waiting.fetch_sub(1, SeqCst);
    }
}
