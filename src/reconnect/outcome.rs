//! What the outcome of a request says about its connection.

use super::{lease::Lease, shared::Shared};
use crate::failure::{Class, Failure};

/// Retires the connection, or notes that it answered.
pub(super) fn observe<C: Clone + Send + 'static>(
    shared: &Shared<C>,
    lease: &Lease,
    outcome: Result<(), &mut Failure>,
) {
    match outcome {
        Err(failure) if is_lost(failure) => {
            if failure.class() != Class::Timeout && lease.has_answered() {
                failure.set_paced();
            }
            shared.retire(lease, failure);
        }
        _ => lease.answer(),
    }
}

/// Whether the connection is of no more use. One that brought an answer is, whatever that says; but
/// for the answer that there is no such session.
pub(super) fn is_lost(failure: &Failure) -> bool {
    let is_answer = failure.has_result() || failure.rpc_error().is_some();
    failure.class().needs_new_connection() && (!is_answer || failure.class() == Class::SessionLost)
}
