use super::settings::Settings;
use crate::{backoff::OwnWaits, failure::Failure, window::BeginBy};
use std::time::Duration;

/// A call that failed at least once.
pub(super) struct History {
    // The failure of the last attempt, with its result, for the case that no later attempt can be
    // made.
    pub(super) failure: Option<Failure>,
    pub(super) attempts: u32,
    pub(super) ceilings: OwnWaits,
    pub(super) waits: Vec<Duration>,
    // The tool's share of the budget. Kept because the last attempt moves the call, and with it the
    // name.
    pub(super) share: u64,
    // Until when the current attempt may begin.
    pub(super) begin_by: Option<BeginBy>,
    // One lost session is normal. A server that loses each session is not.
    pub(super) lost_its_session: bool,
    // An attempt may have run, even if later ones did not.
    pub(super) may_have_run: bool,
    // An attempt may have run, and the hints that permitted it no longer hold.
    pub(super) ran_by_old_hints: bool,
}

impl History {
    pub(super) fn new(settings: &Settings, share: u64) -> Self {
        Self {
            failure: None,
            attempts: 1,
            ceilings: settings.waits.start(),
            waits: Vec::new(),
            share,
            begin_by: None,
            lost_its_session: false,
            may_have_run: false,
            ran_by_old_hints: false,
        }
    }
}
