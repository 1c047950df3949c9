//! Signals between the layers about a failure.
//!
//! Each says that a layer has done its part, so that an outer layer does not do it again. They are
//! not part of the public API.

use super::{Class, Failure};

#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is said or not, on its own"
)]
pub(super) struct Signals {
    is_paced: bool,
    is_held_back: bool,
    is_contained: bool,
    is_limit_told: bool,
    is_for_host: bool,
    has_own_error: bool,
    has_foreign_error: bool,
    is_session_in_doubt: bool,
    is_unclassified_result: bool,
}

impl Failure {
    /// Whether the layer that makes the next connection does the waiting.
    pub(crate) fn is_paced(&self) -> bool {
        self.inner.signals.is_paced
    }

    /// Lets the layer that makes the next connection do the waiting.
    pub(crate) fn set_paced(&mut self) {
        self.inner.signals.is_paced = true;
    }

    /// Whether its wait comes from a [`RetryAfterGate`](crate::retry::RetryAfterGate): the time until
    /// the call's turn.
    pub(crate) fn is_held_back(&self) -> bool {
        self.inner.signals.is_held_back
    }

    pub(crate) fn set_held_back(&mut self) {
        self.inner.signals.is_held_back = true;
    }

    /// Whether a stack has shut down because of it. It does not shut down an outer stack.
    pub(crate) fn is_contained(&self) -> bool {
        self.inner.signals.is_contained
    }

    pub(crate) fn contain(&mut self) {
        self.inner.signals.is_contained = true;
    }

    /// Turns the failure of a nested stack that has shut down into one of the tool that used it. So
    /// the stack around the tool stays open.
    pub(crate) fn contained_in_its_stack(mut self) -> Self {
        if self.class() == Class::Fatal && self.is_contained() {
            self.set_class(Class::Disabled);
        }
        self
    }

    /// Whether the [limit](Self::limit) was reported to an observer.
    pub(crate) fn is_limit_told(&self) -> bool {
        self.inner.signals.is_limit_told
    }

    pub(crate) fn set_limit_told(&mut self) {
        self.inner.signals.is_limit_told = true;
    }

    /// Whether only the host can act on it. Models do not get such a failure.
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

    /// Whether the session may be lost. A probe can find out.
    pub(crate) fn is_session_in_doubt(&self) -> bool {
        self.inner.signals.is_session_in_doubt
    }

    #[cfg_attr(
        not(feature = "rmcp-client-http"),
        allow(dead_code, reason = "a client over HTTP marks them")
    )]
    pub(crate) fn doubt_session(&mut self) {
        self.inner.signals.is_session_in_doubt = true;
    }

    #[cfg_attr(
        not(feature = "rmcp-client"),
        allow(dead_code, reason = "a client over rmcp knows it")
    )]
    pub(crate) fn trust_session(&mut self) {
        self.inner.signals.is_session_in_doubt = false;
    }

    /// Whether it is a flagged result that no `classify` layer has read yet.
    pub(crate) fn is_unclassified_result(&self) -> bool {
        self.inner.signals.is_unclassified_result
    }

    #[cfg_attr(
        not(feature = "rmcp-client-http"),
        allow(dead_code, reason = "a client over HTTP marks them")
    )]
    pub(crate) fn set_unclassified_result(&mut self) {
        self.inner.signals.is_unclassified_result = true;
    }

    /// Marks the JSON-RPC error as meant for the host of this stack.
    pub(super) fn set_own_error(&mut self, is_own: bool) {
        self.inner.signals.has_own_error = is_own;
        self.inner.signals.has_foreign_error &= !is_own;
    }

    /// Drops the parts that another stack meant for its own host: an authentication challenge, and a
    /// JSON-RPC error that the author of a handler did not set.
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

    /// Drops a JSON-RPC error that is meant for another host. Called after `classify` has read it.
    pub(crate) fn without_foreign_error(mut self) -> Self {
        if self.inner.signals.has_foreign_error {
            self.inner.rpc_error = None;
        }
        self
    }
}
