use redis::Script;

/// The scripts. The server runs each as one step.
pub(super) struct Scripts {
    pub(super) claim: Script,
    pub(super) renew: Script,
    pub(super) complete: Script,
    pub(super) release: Script,
    pub(super) settle: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            claim: Script::new(include_str!("claim.lua")),
            renew: Script::new(include_str!("renew.lua")),
            complete: Script::new(include_str!("complete.lua")),
            release: Script::new(include_str!("release.lua")),
            settle: Script::new(include_str!("settle.lua")),
        }
    }
}
