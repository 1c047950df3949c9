//! What the layers tell each other about a failure.
//!
//! Each of these says that a layer has done its part, so that a layer further out leaves it alone.
//! A user has no use for them.

use super::{Class, Failure};

#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is said or not, on its own"
)]
pub(super) struct Signals {
    is_paced: bool,
    is_confined: bool,
    is_limit_told: bool,
    is_for_host: bool,
    has_own_error: bool,
    has_foreign_error: bool,
}

impl Failure {
    /// Whether the pause before a repeat is left to the layer that makes the next connection.
    pub(crate) fn is_paced(&self) -> bool {
        self.inner.signals.is_paced
    }

    /// Leaves the pause before a repeat to the layer that makes the next connection.
    pub(crate) fn set_paced(&mut self) {
        self.inner.signals.is_paced = true;
    }

    /// Whether a stack has shut because of it: it is the end of that stack, and not of one further
    /// out.
    pub(crate) fn is_confined(&self) -> bool {
        self.inner.signals.is_confined
    }

    pub(crate) fn confine(&mut self) {
        self.inner.signals.is_confined = true;
    }

    /// The end of a stack that a tool called on through is that tool's trouble alone, and not the end
    /// of the stack around it.
    pub(crate) fn confined_to_its_stack(mut self) -> Self {
        if self.class() == Class::Fatal && self.is_confined() {
            self.set_class(Class::Disabled);
        }
        self
    }

    /// Whether an observer was told of the [limit](Self::limit).
    pub(crate) fn is_limit_told(&self) -> bool {
        self.inner.signals.is_limit_told
    }

    pub(crate) fn set_limit_told(&mut self) {
        self.inner.signals.is_limit_told = true;
    }

    /// Whether only the host can do something about it, and so no model gets it.
    pub(crate) fn is_for_host(&self) -> bool {
        self.inner.signals.is_for_host
    }

    #[cfg_attr(
        not(feature = "rmcp-client-http"),
        allow(dead_code, reason = "a client over HTTP marks them")
    )]
    pub(crate) fn for_host(mut self) -> Self {
        self.inner.signals.is_for_host = true;
        self
    }

    /// Notes that the JSON-RPC error in it is for the host of this stack.
    pub(super) fn set_own_error(&mut self, is_own: bool) {
        self.inner.signals.has_own_error = is_own;
        self.inner.signals.has_foreign_error &= !is_own;
    }

    /// What another stack said to its host, it said to no other host: a challenge, and a JSON-RPC error
    /// that the author of a handler did not give it.
    pub(super) fn meant_for_its_host(mut self) -> Self {
        self.inner.signals.is_for_host = false;
        if self.is_passed_on() && !self.inner.signals.has_own_error {
            self.inner.signals.has_foreign_error = true;
            if matches!(self.class(), Class::Protocol | Class::Cancelled) {
                self.set_class(Class::Tool);
            }
        }
        self
    }

    /// Leaves behind the JSON-RPC error that was for another host. Until the border has read it, it stays.
    pub(crate) fn without_foreign_error(mut self) -> Self {
        if self.inner.signals.has_foreign_error {
            self.inner.rpc_error = None;
        }
        self
    }
}
