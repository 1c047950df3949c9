//! Which sources may say that a call did not run, or that it may run again.
//!
//! Every [`Delivery`] and every `retryable` of a failure is set here. A claim counts only if its
//! [`Witness`] can know whether this call ran. Any other claim is reset to the safe value: `Unknown`,
//! and no permission to repeat.

use super::{Class, Delivery, Failure};

/// The source of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Witness {
    /// The connection, or a tower layer directly below `classify`.
    Connection,
    /// The server, about this request and in a structured form.
    Server,
    /// The author of a handler or the user of a layer, explicitly.
    Author,
    /// The idempotency store, about whether a run of this key began.
    Store,
    /// Any other source: a text, a part of an answer, a cause, or another stack about its own call.
    Hearsay,
}

/// A boundary that a failure crosses on its way up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Border {
    /// A layer. The error of the service below is about this call, unless that service passes on a
    /// failure of another stack.
    Layer,
    /// A handler behind an adapter. Only explicit claims of its author are about this call.
    Handler,
    /// An error that wraps it. No claim inside is about this call.
    Cause,
}

impl Border {
    const fn admits(self, witness: Witness) -> bool {
        match self {
            Self::Layer => !matches!(witness, Witness::Hearsay),
            Self::Handler => matches!(witness, Witness::Author),
            Self::Cause => false,
        }
    }
}

/// The claims about a failed call, and their sources.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    delivery: Delivery,
    reached_by: Witness,
    retryable: Option<bool>,
    permitted_by: Witness,
    // Whether the failure may be about another call. Then only the author's claims count.
    is_passed_on: bool,
    // Whether it comes from a party between client and server that does not know whether the call ran.
    is_of_gateway: bool,
}

impl Evidence {
    /// For a failure with a known class and no claims.
    pub(super) const fn of(class: Class) -> Self {
        Self {
            delivery: class.delivery(),
            reached_by: Witness::Hearsay,
            retryable: None,
            permitted_by: Witness::Hearsay,
            is_passed_on: false,
            is_of_gateway: false,
        }
    }

    fn tell_delivery(&mut self, delivery: Delivery, by: Witness) {
        let is_claim = delivery.did_not_run() && by == Witness::Hearsay;
        self.delivery = if is_claim {
            Delivery::Unknown
        } else {
            delivery
        };
        self.reached_by = by;
    }

    fn tell_retryable(&mut self, retryable: Option<bool>, by: Witness) {
        self.retryable = retryable.filter(|retryable| !retryable || by != Witness::Hearsay);
        self.permitted_by = by;
    }

    fn cross(&mut self, border: Border) {
        self.is_passed_on |= border != Border::Layer;
        if !border.admits(self.reached_by) {
            self.tell_delivery(self.delivery, Witness::Hearsay);
        }
        if !border.admits(self.permitted_by) {
            self.tell_retryable(self.retryable, Witness::Hearsay);
        }
    }

    fn attribute(&mut self, witness: Witness) {
        self.reached_by = witness;
        self.permitted_by = witness;
        self.is_passed_on = witness == Witness::Hearsay;
    }
}

impl Failure {
    /// How far the call got.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.inner.evidence.delivery
    }

    /// Whether the server said explicitly that a repeat is safe (`true`), or that it is not
    /// (`false`).
    #[must_use]
    pub fn retryable(&self) -> Option<bool> {
        self.inner.evidence.retryable
    }

    /// Says that the call failed before the tool did anything: sets [`Delivery::Refused`]. If waiting
    /// helps, such a call is repeated, even if its tool may not run twice.
    ///
    /// Only the author of the tool can know this. Do not use it for the error of a service that the
    /// tool called, since that service refused the tool's request and not this call.
    ///
    /// ```
    /// use mcp_resilience::{Delivery, Failure};
    ///
    /// let full = Failure::at_capacity(None);
    /// assert_eq!(full.delivery(), Delivery::Unknown);
    /// assert_eq!(full.before_running().delivery(), Delivery::Refused);
    /// ```
    #[must_use]
    pub fn before_running(self) -> Self {
        self.with_delivery(Delivery::Refused)
    }

    /// Sets how far the call got. `NotSent` and `Refused` say that the tool did not run, as
    /// [`before_running`](Self::before_running) does.
    ///
    /// The claim holds for one stack. A handler that passes on the failure of a nested stack has to
    /// make the claim again.
    #[must_use]
    pub fn with_delivery(self, delivery: Delivery) -> Self {
        self.reached(delivery, Witness::Author)
    }

    /// Says whether a repeat is safe (`Some(true)`) or not (`Some(false)`). Like
    /// [`with_delivery`](Self::with_delivery), the claim holds for one stack.
    #[must_use]
    pub fn with_retryable(self, retryable: impl Into<Option<bool>>) -> Self {
        self.permitted(retryable.into(), Witness::Author)
    }

    /// Sets how far the call got, and the source of the claim.
    pub(crate) fn reached(mut self, delivery: Delivery, by: Witness) -> Self {
        self.inner.evidence.tell_delivery(delivery, by);
        self
    }

    /// Sets whether a repeat is safe, and the source of the claim.
    pub(crate) fn permitted(mut self, retryable: Option<bool>, by: Witness) -> Self {
        self.inner.evidence.tell_retryable(retryable, by);
        self
    }

    /// Sets that the connection did not write the request.
    pub(crate) fn not_sent(self) -> Self {
        self.reached(Delivery::NotSent, Witness::Connection)
    }

    /// Sets that the call may have run.
    pub(crate) fn may_have_run(self) -> Self {
        self.reached(Delivery::Unknown, Witness::Hearsay)
    }

    /// Resets every claim that does not hold beyond a boundary.
    pub(crate) fn across(self, border: Border) -> Self {
        let mut failure = match border {
            Border::Layer => self,
            Border::Handler | Border::Cause => self.meant_for_its_host(),
        };
        failure.inner.evidence.cross(border);
        failure
    }

    /// Whether the failure may be about another call.
    pub(super) fn is_passed_on(&self) -> bool {
        self.inner.evidence.is_passed_on
    }

    /// Marks a failure that a gateway reports. What it says never shows whether the call ran, also if
    /// it is read again with other names.
    #[cfg(feature = "rmcp-client-http")]
    pub(crate) fn of_gateway(mut self) -> Self {
        self.inner.evidence.is_of_gateway = true;
        self.attributed_to(Witness::Hearsay)
    }

    /// Resets the claims that were reset in another failure from the same error.
    pub(crate) fn passed_on_like(mut self, other: &Self) -> Self {
        let theirs = other.inner.evidence;
        self.inner.evidence.is_of_gateway = theirs.is_of_gateway;
        if theirs.is_passed_on || theirs.is_of_gateway {
            return self.across(Border::Handler);
        }
        self
    }

    /// Copies the delivery of another failure, with its source.
    pub(crate) fn reached_like(self, other: &Self) -> Self {
        let theirs = other.inner.evidence;
        self.reached(theirs.delivery, theirs.reached_by)
    }

    /// Copies `retryable` of another failure, with its source.
    pub(crate) fn permitted_like(self, other: &Self) -> Self {
        let theirs = other.inner.evidence;
        self.permitted(theirs.retryable, theirs.permitted_by)
    }

    /// Marks a failure that leaves a layer. Its claims still hold for the outer layers of this
    /// stack, but in no other stack.
    pub(crate) fn spent(mut self) -> Self {
        self.set_own_error(false);
        self.attributed_to(Witness::Hearsay)
    }

    /// Marks a failure that leaves a layer. If that layer is inside another of its kind in the same
    /// stack, the claims hold there too.
    pub(crate) fn leaving(self, is_inside: bool) -> Self {
        if is_inside {
            self.attributed_to(Witness::Connection)
        } else {
            self.spent()
        }
    }

    /// Marks a failure that the user's code gets. If a tool passes it on, it does not say that the
    /// tool did not run, and does not shut down the stack around the tool.
    pub(crate) fn handed_out(mut self) -> Self {
        if self.class() == Class::Fatal {
            self.contain();
        }
        self.spent()
    }

    /// Attributes all claims to this source.
    pub(crate) fn attributed_to(mut self, witness: Witness) -> Self {
        self.inner.evidence.attribute(witness);
        self
    }
}
