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
}

impl StoreError {
    /// An error with this text.
    #[must_use]
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// Sets the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }
}
