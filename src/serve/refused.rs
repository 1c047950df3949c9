//! The failures of calls at the end of a server.

use crate::{
    call::Hints,
    failure::{Failure, Stopped},
};

/// A new call. It may be repeated elsewhere.
pub(crate) fn refused() -> Failure {
    let mut failure = Failure::unavailable(None)
        .with_message("the server is shutting down")
        .not_sent();
    failure.set_stopped(Stopped::NotReady);
    failure
}

/// A call whose attempt does not end in time.
pub(crate) fn cut_off(hints: Hints) -> Failure {
    let mut failure = shut_down();
    if !hints.may_repeat() {
        failure.set_stopped(Stopped::MayHaveRun);
    }
    failure
}

/// The log line of a call in a wait or a queue.
pub(crate) fn shut_down() -> Failure {
    let mut failure = Failure::unavailable(None)
        .with_message("the server was shut down before it was done")
        .may_have_run();
    failure.set_stopped(Stopped::NotReady);
    failure
}
