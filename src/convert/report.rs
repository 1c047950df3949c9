//! `anyhow` and `eyre`: an error of any type, which knows what it was made of.

use crate::failure::{BoxError, Failure, IntoFailure};
use std::error::Error;

/// Their boxed form hides the type of the outermost error, so it is read before it is boxed.
fn read<E: Into<BoxError>>(report: E, outermost: impl Fn(&E) -> &(dyn Error + 'static)) -> Failure {
    Failure::of_cause(outermost(&report)).because(report)
}

/// A `Failure` in it keeps its class and its message, and says nothing of this call.
#[cfg(feature = "anyhow")]
impl IntoFailure for anyhow::Error {
    fn into_failure(self) -> Failure {
        read(self, |report| &**report)
    }
}

/// A `Failure` in it keeps its class and its message, and says nothing of this call.
#[cfg(feature = "eyre")]
impl IntoFailure for eyre::Report {
    fn into_failure(self) -> Failure {
        read(self, |report| &**report)
    }
}
