use super::{Border, BoxError, Failure};
use std::{error::Error, fmt};

/// An error that a handler returned, on its way to `classify`.
///
/// Behind an adapter, the handler and the layers directly below `classify` return errors of the same
/// types. This type tells them apart. An `Overloaded` from a layer says that the call was refused.
/// One from a handler may come from a client that the handler used in the middle of its work.
pub(crate) struct Returned(BoxError);

impl Returned {
    /// Marks an error. A `Failure` gets no mark. Instead it loses every claim that its author did
    /// not make.
    #[cfg_attr(
        not(any(feature = "rmcp", feature = "tower-mcp")),
        allow(dead_code, reason = "only adapters run handlers")
    )]
    pub(crate) fn by_handler(error: BoxError) -> BoxError {
        match error.downcast::<Failure>() {
            Ok(failure) => failure
                .across(Border::Handler)
                .contained_in_its_stack()
                .into(),
            Err(error) => Self(error).into(),
        }
    }

    /// The error, and whether a handler returned it.
    pub(crate) fn unmark(error: BoxError) -> (BoxError, bool) {
        match error.downcast::<Self>() {
            Ok(returned) => (returned.0, true),
            Err(error) => (error, false),
        }
    }
}

impl fmt::Display for Returned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Returned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Returned {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}
