//! JSON-RPC errors.

use super::{
    envelope::Envelope,
    lookup::{Lookup, Named},
    texts, vocabulary as known,
};
use crate::failure::{Class, Delivery, Failure, RpcError};

/// Names a JSON-RPC error by its `data`, its code and, for a few, its text. It stays in the failure
/// as it is.
pub(super) fn classify(error: RpcError, lookup: Lookup<'_>) -> Failure {
    let envelope = error
        .data
        .as_ref()
        .map(|data| Envelope::read(data, lookup))
        .unwrap_or_default();
    let (class, delivery) = envelope
        .class()
        .or_else(|| lookup.own_number(error.code.into()))
        .or_else(|| lookup.own_text(&error.message))
        .or_else(|| texts::class_of_message(error.code, &error.message))
        .unwrap_or_else(|| by_number(error.code.into(), &envelope));
    // The error's own message, and not one of its data.
    envelope
        .into_failure(class, lookup)
        .with_delivery(delivery)
        .with_message(error.message.clone())
        .with_rpc_error(error)
}

fn by_number(number: i64, envelope: &Envelope) -> Named {
    let means = |known: &[(i64, Class, Delivery)]| {
        let found = known.iter().find(|(known, ..)| *known == number);
        found.map(|(_, class, delivery)| (*class, *delivery))
    };
    let with_a_wait = envelope.retry_after().map(|_| known::NUMBERS_WITH_A_WAIT);
    if let Some(named) = means(known::NUMBERS).or_else(|| means(with_a_wait?)) {
        return named;
    }
    // The server says that a repeat is fine, and not what was wrong.
    let class = match envelope.retryable() {
        Some(true) => Class::Upstream,
        _ => Class::Protocol,
    };
    (class, Delivery::Unknown)
}

/// The user's names for a JSON-RPC error that somebody below the border has made a failure of: a
/// connection reads an error before it gets here, and knows no names but its own.
pub(super) fn read_again(failure: Failure, lookup: Lookup<'_>) -> Failure {
    let Some(error) = failure.rpc_error() else {
        return failure;
    };
    let ours = classify(error.clone(), Lookup::BUILT_IN);
    let theirs = classify(error.clone(), lookup);
    let wait = failure.retry_after().max(theirs.retry_after());
    let retryable = match (failure.retryable(), theirs.retryable()) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (said, more) => said.or(more),
    };
    let is_news = (ours.class(), ours.delivery()) != (theirs.class(), theirs.delivery());
    let mut failure = failure.with_retry_after(wait).with_retryable(retryable);
    if is_news {
        failure.set_class(theirs.class());
        // A status may have said that it did not run, whatever the error means.
        if !failure.delivery().did_not_run() {
            failure = failure.with_delivery(theirs.delivery());
        }
        if let Some(code) = theirs.code().cloned() {
            failure = failure.with_code(code);
        }
    }
    failure
}
