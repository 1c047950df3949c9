use crate::{
    call::{Flagged, ToolResult, inner_result},
    failure::BoxError,
    idempotency::StoredResult,
};

/// The answer of a handler to a call, on its way up.
///
/// It is the answer inside, except that it [is from a handler](ToolResult::is_from_handler): its
/// envelope gives class, code and wait, and never says that the call did not run or may run again. A
/// layer that answers by itself makes one with `from`.
#[derive(Clone, Debug)]
pub struct HandlerAnswer<A>(A);

impl<A> HandlerAnswer<A> {
    /// The answer.
    #[must_use]
    pub const fn get_ref(&self) -> &A {
        &self.0
    }

    /// The answer, mutably.
    #[must_use]
    pub const fn get_mut(&mut self) -> &mut A {
        &mut self.0
    }

    /// Returns the answer.
    #[must_use]
    pub fn into_inner(self) -> A {
        self.0
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "other types may have no result inside"
    )]
    const fn inner(&self) -> Option<&A> {
        Some(&self.0)
    }
}

impl<A> From<A> for HandlerAnswer<A> {
    fn from(answer: A) -> Self {
        Self(answer)
    }
}

impl<A: ToolResult> ToolResult for HandlerAnswer<A> {
    inner_result!(Self::inner);

    fn is_from_handler(&self) -> bool {
        true
    }

    fn is_interim(&self) -> bool {
        self.0.is_interim()
    }

    fn flag(&mut self) {
        self.0.flag();
    }

    fn from_failure(flagged: Flagged) -> Option<Self> {
        A::from_failure(flagged).map(Self)
    }
}

impl<A: StoredResult> StoredResult for HandlerAnswer<A> {
    fn encode(&self) -> Result<Vec<u8>, BoxError> {
        self.0.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, BoxError> {
        A::decode(bytes).map(Self)
    }

    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        self.0.request_state_mut()
    }

    fn mark_replayed(&mut self) {
        self.0.mark_replayed();
    }
}
