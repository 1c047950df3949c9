use super::budget::REPEAT;
use crate::call::{Method, ToolCall};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

/// How many tools have a share of their own. Bounded, because the names come from callers. A further
/// tool replaces the tool whose share was unused for the longest time, if that is at least
/// [`UNUSED`]. All other tools have one share together.
const TOOLS: usize = 256;

/// How long an unused share keeps its place. So a caller that always uses new names gets at most
/// [`TOOLS`] shares in this time.
const UNUSED: Duration = Duration::from_secs(60);

/// The share of all tools beyond that number.
const OTHERS: u64 = u64::MAX;

/// The share of each tool in a budget: half of a full budget at first, then paid by the tool's own
/// successes. Time pays nothing into it, so that many tools do not get more repeats in an outage.
pub(super) struct Shares {
    // Shares that are not full, by a hash of the tool's name.
    left: Mutex<HashMap<u64, Share>>,
    any_is_spent: AtomicBool,
    first: i64,
    full: i64,
}

struct Share {
    left: i64,
    used: Instant,
}

impl Shares {
    pub(super) fn new(first: i64, full: i64) -> Self {
        Self {
            left: Mutex::default(),
            any_is_spent: AtomicBool::new(false),
            first,
            full,
        }
    }

    /// Whether there is a share that a success may have to pay into.
    #[inline]
    pub(super) fn any_is_spent(&self) -> bool {
        self.any_is_spent.load(Relaxed)
    }

    pub(super) fn pay_in(&self, tool: u64, amount: i64) {
        let mut all = self.lock();
        let own = all.contains_key(&tool) || all.len() < TOOLS;
        let tool = if own { tool } else { OTHERS };
        let Some(share) = all.get_mut(&tool) else {
            return;
        };
        share.left = share.left.saturating_add(amount).min(self.full);
        // A tool without an entry has its first share. That is a full one, unless time pays
        // nothing.
        if share.left == self.full && self.first == self.full {
            all.remove(&tool);
            self.any_is_spent.store(!all.is_empty(), Relaxed);
        }
    }

    /// Takes one repeat from the tool's share, if there is one left.
    pub(super) fn withdraw(&self, tool: u64) -> bool {
        let mut all = self.lock();
        self.any_is_spent.store(true, Relaxed);
        let now = Instant::now();
        let tool = place(&mut all, tool, now);
        let share = all.entry(tool).or_insert(Share {
            left: self.first,
            used: now,
        });
        share.used = now;
        let has_it = share.left >= REPEAT;
        if has_it {
            share.left -= REPEAT;
        }
        has_it
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Share>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The key of a tool's share. Makes room for a new one if possible.
fn place(all: &mut HashMap<u64, Share>, tool: u64, now: Instant) -> u64 {
    if all.len() < TOOLS || all.contains_key(&tool) {
        return tool;
    }
    let own = all.iter().filter(|(tool, _)| **tool != OTHERS);
    let oldest = own.min_by_key(|(_, share)| share.used);
    let oldest = oldest.map(|(tool, share)| (*tool, now.saturating_duration_since(share.used)));
    match oldest {
        Some((unused, since)) if since >= UNUSED => {
            all.remove(&unused);
            tool
        }
        _ => OTHERS,
    }
}

/// The key of a tool's share in the budget. All resources have one share together, since each has
/// its own name. So have all prompts.
pub(super) fn share(call: &(impl ToolCall + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    let method = call.method();
    method.hash(&mut hasher);
    if method == Method::CallTool {
        call.name().hash(&mut hasher);
    }
    hasher.finish()
}
