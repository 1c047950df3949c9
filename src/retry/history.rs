use super::settings::Settings;
use crate::{backoff::OwnWaits, failure::Failure, window::BeginBy};
use std::time::Duration;

/// A call that failed at least once.
pub(super) struct History {
    // What failed the last attempt that was made; with its result, in case it is the last that is heard.
    pub(super) failure: Option<Failure>,
    pub(super) attempts: u32,
    pub(super) ceilings: OwnWaits,
    pub(super) waits: Vec<Duration>,
    // The tool's share of the budget: the last attempt moves the call, and its name with it.
    pub(super) share: u64,
    // Until when the current attempt may begin.
    pub(super) begin_by: Option<BeginBy>,
    // One new session is the protocol's business; a server that loses each is another matter.
    pub(super) lost_its_session: bool,
    // An attempt may have run, whatever became of the later ones.
    pub(super) may_have_run: bool,
    // It may have, by hints that hold no more.
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
