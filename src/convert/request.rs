use crate::failure::{BoxError, Failure, IntoFailure};

/// A failed request of the tool's own: by its status if it has one, else by what went wrong. A
/// request that cannot be built is a crash.
impl IntoFailure for reqwest::Error {
    fn into_failure(self) -> Failure {
        BoxError::from(self).into_failure()
    }
}
