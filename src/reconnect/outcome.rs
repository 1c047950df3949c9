//! What the outcome of a request implies for the connection.

use crate::failure::{Class, Delivery, Failure};

/// Whether the connection is lost. A connection with an answer works, even if the answer is an
/// error, unless the server does not know the session.
pub(super) fn is_lost(failure: &Failure) -> bool {
    let is_answer = failure.has_result() || failure.rpc_error().is_some();
    failure.class().needs_new_connection() && (!is_answer || failure.class() == Class::SessionLost)
}

/// Whether the failed request may be made once more on a new connection.
pub(super) fn may_go_again(failure: &Failure) -> bool {
    let was_not_sent = failure.delivery() == Delivery::NotSent;
    let lost_its_session =
        failure.class() == Class::SessionLost && failure.delivery().did_not_run();
    is_lost(failure) && (was_not_sent || lost_its_session)
}
