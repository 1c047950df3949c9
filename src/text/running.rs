//! Secrets in texts that belong to no call: what a server writes to stderr during calls, an event of
//! a background task, the reason for the end of the process.
//!
//! It is unknown whose values such a text quotes. So it is masked with those of all calls of the
//! process that run, or ended a moment ago. Without such a call this costs one load.
//!
//! Calls of other clients and connections count too. A tool may pass a secret to a server of its own
//! under a harmless name. Then only the tool's call knows that it is a secret, and not the call that
//! the server quotes. And servers of several connections may be the same process. The price is a mask
//! too many if two calls have the same value.

use super::{
    MASK,
    scope::{self, Own},
};
use crate::lock::Mutex;
use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

/// How long the values of a call are kept after its end, because later texts may still quote them.
const TRAIL: Duration = Duration::from_secs(10);

/// How many ended calls are kept.
const MOST_ENDED: usize = 64;

/// How many comparisons one text may cost, for all calls together. After that, the rest of the text
/// is masked.
const STEPS: usize = 1 << 20;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static CALLS: Mutex<Calls> = Mutex::new(Calls {
    next: 0,
    running: BTreeMap::new(),
    ended: VecDeque::new(),
});

struct Calls {
    next: u64,
    running: BTreeMap<u64, Arc<Own>>,
    ended: VecDeque<(Instant, Arc<Own>)>,
}

/// Marks a call as running until it is dropped.
pub(super) struct Running(u64);

impl Running {
    pub(super) fn new(own: &Arc<Own>) -> Self {
        let mut calls = CALLS.lock();
        let number = calls.next;
        calls.next += 1;
        calls.running.insert(number, Arc::clone(own));
        calls.count();
        Self(number)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut calls = CALLS.lock();
        if let Some(own) = calls.running.remove(&self.0) {
            calls.ended.push_back((now, own));
        }
        calls.forget(now);
    }
}

impl Calls {
    fn forget(&mut self, now: Instant) {
        let is_over = |ended: &Instant| now.saturating_duration_since(*ended) > TRAIL;
        while self.ended.len() > MOST_ENDED
            || self.ended.front().is_some_and(|(ended, _)| is_over(ended))
        {
            self.ended.pop_front();
        }
        self.count();
    }

    fn count(&self) {
        COUNT.store(self.running.len() + self.ended.len(), Relaxed);
    }
}

/// Masks the values of all these calls, then applies their hooks.
#[inline]
pub(super) fn redacted(text: Cow<'_, str>) -> Cow<'_, str> {
    if COUNT.load(Relaxed) == 0 {
        return text;
    }
    with_all(text)
}

#[cold]
fn with_all(text: Cow<'_, str>) -> Cow<'_, str> {
    let calls: Vec<Arc<Own>> = {
        let mut calls = CALLS.lock();
        calls.forget(Instant::now());
        let ended = calls.ended.iter().map(|(_, own)| own);
        calls.running.values().chain(ended).cloned().collect()
    };
    let mut steps = STEPS;
    let mut text = text;
    for own in &calls {
        if steps == 0 {
            return Cow::Borrowed(MASK);
        }
        if let Cow::Owned(masked) = own.secrets.mask_within(&text, &mut steps) {
            text = Cow::Owned(masked);
        }
    }
    // Most calls share one hook: apply it once.
    let mut asked: Vec<*const ()> = Vec::new();
    for hook in calls.iter().filter_map(|own| own.hook.as_deref()) {
        let place = std::ptr::from_ref(hook).cast::<()>();
        if !asked.contains(&place) {
            asked.push(place);
            if let Cow::Owned(hooked) = scope::hooked(hook, &text) {
                text = Cow::Owned(hooked);
            }
        }
    }
    text
}
