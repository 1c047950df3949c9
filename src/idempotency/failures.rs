//! The failures that the layer itself returns.

use super::store::StoreError;
use crate::{
    call::{IdempotencyKey, InvalidKey},
    failure::{Class, Delivery, Failure, Stopped, Witness},
};
use std::time::Duration;

/// Codes of this layer's own failures.
pub mod codes {
    /// An earlier call with the key still runs, on this replica or another.
    pub const IN_FLIGHT: &str = "idempotency_in_flight";
    /// The key was used for another tool, or with other arguments or other input for the same round.
    pub const CONFLICT: &str = "idempotency_conflict";
    /// An earlier call with the key began, and its end is unknown.
    pub const UNKNOWN: &str = "idempotency_unknown";
    /// An earlier call with the key is done, and its answer is not kept.
    pub const NOT_KEPT: &str = "idempotency_not_kept";
    /// The key is invalid.
    pub const INVALID_KEY: &str = "idempotency_key_invalid";
    /// The store has no room for a further call.
    pub const STORE_FULL: &str = "idempotency_store_full";
    /// The tool requires a key.
    pub const KEY_REQUIRED: &str = "idempotency_key_required";
}

/// The longest wait that a caller is asked for while another run goes on.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The wait that a caller is asked for while the store cannot be reached.
const STORE_WAIT: Duration = Duration::from_secs(1);

/// The wait that a caller is asked for while the store is full. Room comes when records expire.
const FULL_WAIT: Duration = Duration::from_secs(60);

/// Marks a failure of an attempt that began no run: the store said so, or was not asked yet.
fn began_no_run(failure: Failure) -> Failure {
    failure.reached(Delivery::NotSent, Witness::Store)
}

pub(super) fn invalid_key(problem: InvalidKey) -> Failure {
    let text = format!("the idempotency key is not valid: {problem}");
    began_no_run(Failure::new(Class::InvalidInput, text).with_code(codes::INVALID_KEY))
}

pub(super) fn key_required() -> Failure {
    let text = format!(
        "this tool requires an idempotency key: pass one in `_meta`, as `{}`",
        crate::call::KEY_META
    );
    began_no_run(Failure::new(Class::InvalidInput, text).with_code(codes::KEY_REQUIRED))
}

pub(super) fn conflict() -> Failure {
    let text = "the idempotency key was used for another tool, other arguments or other input: use a new key for each call";
    began_no_run(Failure::new(Class::InvalidInput, text).with_code(codes::CONFLICT))
}

pub(super) fn in_flight(lease_left: Duration) -> Failure {
    let wait = lease_left.min(LONGEST_WAIT).max(Duration::from_secs(1));
    let text = "an earlier call with the same idempotency key still runs";
    began_no_run(
        Failure::unavailable(Some(wait))
            .with_message(text)
            .with_code(codes::IN_FLIGHT),
    )
}

pub(super) fn store_unreachable(error: StoreError) -> Failure {
    let text = "the store of idempotency keys cannot be reached, and nothing was run";
    began_no_run(
        Failure::unavailable(Some(STORE_WAIT))
            .with_message(text)
            .because(error),
    )
}

pub(super) fn store_full(error: StoreError) -> Failure {
    let text = "the store of idempotency keys is full, and nothing was run";
    began_no_run(
        Failure::unavailable(Some(FULL_WAIT))
            .with_message(text)
            .with_code(codes::STORE_FULL)
            .because(error),
    )
}

/// Marks a failure as final: a repeat would fail in the same way.
fn is_final(failure: Failure) -> Failure {
    let mut failure = failure.permitted(Some(false), Witness::Store);
    failure.set_stopped(Stopped::MayHaveRun);
    failure
}

pub(super) fn unknown() -> Failure {
    let text = "the outcome of an earlier call with the same idempotency key is unknown";
    let failure = Failure::unavailable(None)
        .with_message(text)
        .with_code(codes::UNKNOWN);
    is_final(failure.may_have_run())
}

pub(super) fn not_kept() -> Failure {
    let text = "an earlier call with the same idempotency key is done, and its answer is not kept";
    let failure = Failure::unavailable(None)
        .with_message(text)
        .with_code(codes::NOT_KEPT);
    is_final(failure.reached(Delivery::Executed, Witness::Store))
}

/// The failure for an answer that cannot be decoded, such as one of a later version.
pub(super) fn unreadable(error: StoreError) -> Failure {
    let text =
        "an earlier call with the same idempotency key is done, and its answer cannot be read";
    let failure = Failure::unavailable(None)
        .with_message(text)
        .with_code(codes::NOT_KEPT)
        .because(error);
    is_final(failure.reached(Delivery::Executed, Witness::Store))
}

pub(super) fn cancelled(has_begun: bool) -> Failure {
    let failure = Failure::cancelled("the caller cancelled the call");
    if has_begun {
        failure.may_have_run()
    } else {
        began_no_run(failure)
    }
}

/// Why a run goes on without protection.
pub(super) fn unprotected(key: &IdempotencyKey, error: StoreError) {
    let failure = store_unreachable(error);
    tracing::warn!(
        key_length = key.as_str().len() as u64,
        error = %failure.chain(),
        "the store of idempotency keys cannot be reached: the call runs without protection"
    );
}
