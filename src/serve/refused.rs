//! What becomes of the calls that the end of a server finds.

use crate::{
    call::Hints,
    failure::{Failure, Stopped},
};

/// A call that begins too late. It may be repeated, but not here.
pub(crate) fn refused() -> Failure {
    let mut failure = Failure::unavailable(None)
        .with_message("the server is shutting down")
        .not_sent();
    failure.set_stopped(Stopped::NotReady);
    failure
}

/// A call whose attempt is not done in time.
pub(crate) fn cut_off(hints: Hints) -> Failure {
    let mut failure = shut_down();
    if !hints.may_repeat() {
        failure.set_stopped(Stopped::MayHaveRun);
    }
    failure
}

/// A call in a wait or a queue: what its line says.
pub(crate) fn shut_down() -> Failure {
    let mut failure = Failure::unavailable(None)
        .with_message("the server was shut down before it was done")
        .may_have_run();
    failure.set_stopped(Stopped::NotReady);
    failure
}
