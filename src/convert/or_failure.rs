use crate::failure::{BoxError, Failure};

/// Converts every error to a [`Failure`].
pub trait OrFailure<T> {
    /// Converts the error. A `Failure` is unwrapped. [Known errors](crate::failure#errors-of-others)
    /// keep their class, anywhere in the chain of sources. Any other error is a crash: the model
    /// reads nothing of it, and the log has the whole chain.
    ///
    /// ```
    /// use mcp_resilience::{Class, Failure, convert::OrFailure};
    ///
    /// fn tool(count: &str) -> Result<u32, Failure> {
    ///     count.parse().or_failure()
    /// }
    ///
    /// assert_eq!(tool("many").unwrap_err().class(), Class::Crash);
    /// ```
    ///
    /// # Errors
    ///
    /// The failure, if there was an error.
    fn or_failure(self) -> Result<T, Failure>;
}

impl<T, E: Into<BoxError>> OrFailure<T> for Result<T, E> {
    fn or_failure(self) -> Result<T, Failure> {
        self.map_err(|error| Failure::from(error.into()))
    }
}
