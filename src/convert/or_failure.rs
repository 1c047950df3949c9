use crate::failure::{BoxError, Failure};

/// The way for every error into a [`Failure`].
pub trait OrFailure<T> {
    /// Makes a failure of the error: a `Failure` is unwrapped, the errors that are
    /// [known](crate::failure#errors-of-others) keep their class anywhere in the chain of sources, any
    /// other error is a crash. The model reads nothing of a crash, the log has the whole chain.
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
    /// When it was one.
    fn or_failure(self) -> Result<T, Failure>;
}

impl<T, E: Into<BoxError>> OrFailure<T> for Result<T, E> {
    fn or_failure(self) -> Result<T, Failure> {
        self.map_err(|error| Failure::from(error.into()))
    }
}
