use super::Failure;

/// An error that knows which kind of failure it is. `?` takes it in a function that returns a
/// [`Failure`].
///
/// Implemented for boxed errors, [`std::io::Error`], timeouts of tower and tokio, and behind features
/// for `reqwest::Error`, `anyhow::Error` and `eyre::Report`. For any other error use
/// [`or_failure`](crate::convert::OrFailure::or_failure), or implement it for your own error:
///
/// ```
/// use mcp_resilience::{Class, Failure, failure::IntoFailure};
///
/// #[derive(Debug, thiserror::Error)]
/// enum ShopError {
///     #[error("no book titled {0:?}")]
///     NoSuchBook(String),
///     #[error("the shop is closed")]
///     Closed,
/// }
///
/// impl IntoFailure for ShopError {
///     fn into_failure(self) -> Failure {
///         match self {
///             Self::NoSuchBook(_) => Failure::not_found(self.to_string()),
///             Self::Closed => Failure::unavailable(None).because(self),
///         }
///     }
/// }
///
/// fn price(title: &str) -> Result<u32, ShopError> {
///     Err(ShopError::NoSuchBook(title.to_owned()))
/// }
///
/// fn tool(title: &str) -> Result<u32, Failure> {
///     Ok(price(title)?)
/// }
///
/// assert_eq!(tool("Nothing").unwrap_err().class(), Class::NotFound);
/// ```
///
/// The compiler refuses an error that does not implement it:
///
/// ```compile_fail,E0277
/// use mcp_resilience::Failure;
///
/// fn tool(count: &str) -> Result<u32, Failure> {
///     Ok(count.parse::<u32>()?)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what kind of failure it is",
    label = "write `.or_failure()?` (trait `mcp_resilience::convert::OrFailure`), or `.map_err(…)?` with one of `Failure`'s constructors; `anyhow`, `eyre` and `reqwest` have a feature",
    note = "an error of your own may implement `mcp_resilience::failure::IntoFailure`"
)]
pub trait IntoFailure {
    /// The failure, with the error as its source.
    fn into_failure(self) -> Failure;
}

impl<E: IntoFailure> From<E> for Failure {
    fn from(error: E) -> Self {
        error.into_failure()
    }
}
