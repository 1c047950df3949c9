//! `anyhow` and `eyre`: an error of any type, which knows its original type.

use crate::failure::{BoxError, Failure, IntoFailure};
use std::error::Error;

/// The boxed form hides the type of the outermost error, so read it before.
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
