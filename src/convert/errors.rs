//! Errors of other crates.

use crate::failure::{BoxError, Failure, IntoFailure};
#[cfg(any(feature = "anyhow", feature = "eyre"))]
use std::error::Error;

/// A report of `anyhow` or `eyre`. Its boxed form hides the type of the outermost error, so read it
/// before.
#[cfg(any(feature = "anyhow", feature = "eyre"))]
fn read<E: Into<BoxError>>(report: E, outermost: impl Fn(&E) -> &(dyn Error + 'static)) -> Failure {
    Failure::of_cause(outermost(&report)).because(report)
}

/// A `Failure` inside keeps its class and its message, and loses its claims about this call.
#[cfg(feature = "anyhow")]
impl IntoFailure for anyhow::Error {
    fn into_failure(self) -> Failure {
        read(self, |report| &**report)
    }
}

/// A `Failure` inside keeps its class and its message, and loses its claims about this call.
#[cfg(feature = "eyre")]
impl IntoFailure for eyre::Report {
    fn into_failure(self) -> Failure {
        read(self, |report| &**report)
    }
}

/// A failed request of the tool's own: by its status if it has one, else by what went wrong. A
/// request that cannot be built is a crash.
#[cfg(feature = "reqwest")]
impl IntoFailure for reqwest::Error {
    fn into_failure(self) -> Failure {
        BoxError::from(self).into_failure()
    }
}
