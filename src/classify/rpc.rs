//! JSON-RPC errors.

use super::{
    built_in as known,
    envelope::Envelope,
    lookup::Lookup,
    named::Named,
    texts::{self, Session},
};
use crate::failure::{Class, Code, Failure, RpcError, Witness};

/// Classifies a JSON-RPC error that a server sent over a connection of an adapter.
#[cfg(any(feature = "rmcp-client", feature = "tower-mcp"))]
pub(crate) fn name_rpc(error: RpcError, session: Session) -> Failure {
    classify(error, Lookup::BUILT_IN, session)
}

/// Classifies a JSON-RPC error by its `data`, its code and, for a few, its message. The failure keeps
/// the error as it is.
pub(super) fn classify(error: RpcError, lookup: Lookup<'_>, session: Session) -> Failure {
    let envelope = match &error.data {
        Some(data) => Envelope::read(data, Witness::Server, lookup),
        None => Envelope::empty(Witness::Server),
    };
    let number = i64::from(error.code);
    let own = lookup.own_number(number);
    let is_repeatable = own.is_some_and(|own| own.is_repeatable) && envelope.class().is_none();
    let named = envelope
        .class()
        .or_else(|| Some(own?.named()))
        .or_else(|| lookup.own_text(&error.message))
        .or_else(|| texts::class_of_message(error.code, &error.message, session))
        .unwrap_or_else(|| by_number(number, &envelope));
    let failure = envelope.into_failure(named);
    let failure = match failure.retryable() {
        None | Some(true) if is_repeatable => failure.permitted(Some(true), Witness::Author),
        _ => failure,
    };
    // The error's own message, and not one in its data.
    failure
        .with_message(error.message.clone())
        .with_rpc_error(error)
}

fn by_number(number: i64, envelope: &Envelope) -> Named {
    if let Some(class) = texts::of_number(number) {
        return Named::of(class);
    }
    let has_wait = envelope.retry_after().is_some_and(|wait| !wait.is_zero());
    match number {
        known::RATE_LIMITED if has_wait => Named::refusal(Class::RateLimited),
        _ if has_wait && known::NUMBERS_WITH_A_WAIT.contains(&number) => {
            Named::of(Class::RateLimited)
        }
        // The server says that a repeat is safe, and not what was wrong.
        _ if envelope.retryable() == Some(true) => Named::unknown(Class::Upstream),
        _ => Named::of(Class::Protocol),
    }
}

/// Applies the user's words to a JSON-RPC error that a connection has already turned into a failure.
/// The connection knows only the built-in names.
///
/// Keeps other details of the connection, such as an HTTP status, which wins over a number.
///
/// Only the meanings that the user gave are the user's claims. A built-in refusal that the user's
/// words only help to find stays the server's, and is lost if the failure's own was lost.
pub(super) fn read_again(failure: Failure, lookup: Lookup<'_>) -> Failure {
    let Some(error) = failure.rpc_error() else {
        return failure;
    };
    let read = |lookup| classify(error.clone(), lookup, Session::Untold).passed_on_like(&failure);
    let (ours, theirs) = (read(Lookup::BUILT_IN), read(lookup));
    let is_news = (ours.class(), ours.delivery(), ours.retryable())
        != (theirs.class(), theirs.delivery(), theirs.retryable());
    let is_beaten = failure.status().is_some() && !matches!(theirs.code(), Some(Code::Text(_)));
    let wait = failure.retry_after().max(theirs.retry_after());
    let mut failure = failure.with_retry_after(wait);
    if theirs.retryable() == Some(false) {
        failure = failure.permitted(Some(false), Witness::Server);
    }
    if !is_news || is_beaten {
        return failure;
    }
    failure.set_class(theirs.class());
    // Keep "did not run" if the HTTP status or the author of the failure said so. Our built-in table
    // does not count, since the user gave the error another meaning.
    let knew_more = failure.status().is_some() || !ours.delivery().did_not_run();
    if !(knew_more && failure.delivery().did_not_run()) {
        failure = failure.reached_like(&theirs);
    }
    if failure.retryable() == ours.retryable() {
        failure = failure.permitted_like(&theirs);
    }
    match theirs.code().cloned() {
        Some(code) => failure.with_code(code),
        None => failure,
    }
}
