//! JSON-RPC errors.

use super::{
    envelope::Envelope,
    lookup::{Lookup, Named},
    texts, vocabulary as known,
};
use crate::failure::{Class, Code, Delivery, Failure, RpcError};

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
    let wait = envelope.retry_after().filter(|wait| !wait.is_zero());
    let with_a_wait = wait.map(|_| known::NUMBERS_WITH_A_WAIT);
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
///
/// What that knew besides the error stays: a status of HTTP, which no number beats.
pub(super) fn read_again(failure: Failure, lookup: Lookup<'_>) -> Failure {
    let Some(error) = failure.rpc_error() else {
        return failure;
    };
    let ours = classify(error.clone(), Lookup::BUILT_IN);
    let theirs = classify(error.clone(), lookup);
    let is_news = (ours.class(), ours.delivery(), ours.retryable())
        != (theirs.class(), theirs.delivery(), theirs.retryable());
    let is_beaten = failure.status().is_some() && !matches!(theirs.code(), Some(Code::Text(_)));
    let wait = failure.retry_after().max(theirs.retry_after());
    let mut failure = failure.with_retry_after(wait);
    if theirs.retryable() == Some(false) {
        failure = failure.with_retryable(false);
    }
    if !is_news || is_beaten {
        return failure;
    }
    failure.set_class(theirs.class());
    // That it did not run, a status may know, or whoever made the failure; and not our own name for
    // what is theirs to name.
    let knew_more = failure.status().is_some() || !ours.delivery().did_not_run();
    if !(knew_more && failure.delivery().did_not_run()) {
        failure = failure.with_delivery(theirs.delivery());
    }
    if failure.retryable() == ours.retryable() {
        failure = failure.with_retryable(theirs.retryable());
    }
    match theirs.code().cloned() {
        Some(code) => failure.with_code(code),
        None => failure,
    }
}
