use super::clock::millis;
use crate::{
    idempotency::{RecordId, store::Token},
    lock::Mutex,
};
use std::{collections::HashMap, sync::Arc, time::Duration};

/// The leases of the claims of this process. Claims of earlier processes have none.
#[derive(Clone, Default)]
pub(super) struct Leases(Arc<Mutex<HashMap<RecordId, Lease>>>);

#[derive(Clone, Copy)]
pub(super) struct Lease {
    pub(super) token: Token,
    pub(super) until_ms: u64,
    /// How long the record is kept after the last renewal, and the expiry that is written in the file.
    pub(super) keep_ms: u64,
    pub(super) expires_ms: u64,
}

pub(super) struct Renewed {
    pub(super) is_ours: bool,
    pub(super) is_to_be_written: bool,
}

impl Leases {
    /// Sets or removes leases.
    pub(super) fn change(&self, changed: HashMap<RecordId, Option<Lease>>) {
        let mut leases = self.0.lock();
        for (record, lease) in changed {
            match lease {
                Some(lease) => leases.insert(record, lease),
                None => leases.remove(&record),
            };
        }
    }

    pub(super) fn get(&self, record: &RecordId) -> Option<Lease> {
        self.0.lock().get(record).copied()
    }

    /// Renews a lease. Returns whether the record would expire soon, so that its expiry has to be
    /// written again.
    pub(super) fn renew(
        &self,
        record: &RecordId,
        token: Token,
        now_ms: u64,
        lease: Duration,
    ) -> Renewed {
        let mut leases = self.0.lock();
        let Some(held) = leases.get_mut(record).filter(|held| held.token == token) else {
            return Renewed {
                is_ours: false,
                is_to_be_written: false,
            };
        };
        held.until_ms = now_ms.saturating_add(millis(lease));
        let is_to_be_written = held.expires_ms < held.until_ms.saturating_add(held.keep_ms / 2);
        if is_to_be_written {
            held.expires_ms = held.until_ms.saturating_add(held.keep_ms);
        }
        Renewed {
            is_ours: true,
            is_to_be_written,
        }
    }
}
