use crate::failure::BoxError;
use std::borrow::Cow;

/// Why an operation of a store failed.
///
/// The text says what happened and what to do. It goes to the log, and never to a model.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    message: Cow<'static, str>,
    source: Option<BoxError>,
    is_full: bool,
}

impl StoreError {
    /// An error with this text.
    #[must_use]
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            message: message.into(),
            source: None,
            is_full: false,
        }
    }

    /// The error of a claim for which there is no room. The call fails at once with the code
    /// `idempotency_store_full`, and does not run without protection either.
    #[must_use]
    pub fn full(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            is_full: true,
            ..Self::new(message)
        }
    }

    /// Whether there is no room for a claim.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Sets the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }
}
