//! Takes a typed error out of a handler whose signature has only the SDK's error type.
//!
//! An SDK's error holds a code, a text and JSON. A [`Failure`], or an error for one of the user's
//! rules, is kept here in the task-local of the handler that is being polled. The handler returns a
//! JSON-RPC error in its place. If it returns that error unchanged, the kept error goes up instead.
//! If it changed the error, the changed one counts.

use crate::{
    failure::{BoxError, Chain, Class, Failure, RpcError},
    ledger::CallId,
};
use std::cell::RefCell;

tokio::task_local! {
    static KEPT: RefCell<Vec<(RpcError, BoxError)>>;
}

/// The limit of kept errors. A handler that throws more, and returns none, does not need the oldest.
const CAPACITY: usize = 16;

/// Runs a handler whose errors are to be [exchanged](exchange), or [taken](take), in the same future.
pub(crate) async fn keeping<T>(handler: impl Future<Output = T>) -> T {
    KEPT.scope(RefCell::default(), handler).await
}

/// The errors that a handler threw, for the one that it returned.
pub(crate) fn exchange(error: RpcError) -> BoxError {
    take(|meanwhile| *meanwhile == error).unwrap_or_else(|| match reported(&error) {
        Some(id) => Failure::crash(Elsewhere { id: id.to_owned() }).into(),
        None => error.into(),
    })
}

/// Takes the newest kept error that belongs to this one.
pub(crate) fn take(is_it: impl Fn(&RpcError) -> bool) -> Option<BoxError> {
    KEPT.with(|kept| {
        let mut kept = kept.borrow_mut();
        let at = kept.iter().rposition(|(meanwhile, _)| is_it(meanwhile))?;
        Some(kept.swap_remove(at).1)
    })
}

/// Keeps an error, and returns the error in its place.
pub(crate) fn throw(error: BoxError) -> RpcError {
    let meanwhile = match error.downcast_ref::<Failure>() {
        Some(failure) => answer(failure),
        None => crash(),
    };
    let mut thrown = Some(error);
    let is_kept = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.len() == CAPACITY {
            kept.remove(0);
        }
        kept.extend(thrown.take().map(|thrown| (meanwhile.clone(), thrown)));
    });
    match thrown {
        // No handler is being polled here, but a task that one has spawned, or a handler without a
        // wrapper.
        Some(thrown) if is_kept.is_err() => report(&thrown, meanwhile),
        _ => meanwhile,
    }
}

/// The message of a crash that cannot be kept.
const REPORTED: &str = "internal error (id ";

/// Logs an error that would be lost. A crash has no message, so it gets an id.
fn report(thrown: &BoxError, mut meanwhile: RpcError) -> RpcError {
    if meanwhile == crash() {
        let id = CallId::random();
        tracing::error!(
            call_id = %id,
            error = %Chain(&**thrown),
            "a handler failed unexpectedly, outside of its call"
        );
        meanwhile.message = format!("{REPORTED}{id})");
    } else {
        tracing::debug!(error = %Chain(&**thrown), "a failure outside of its call becomes an error of the protocol");
    }
    meanwhile
}

/// The id of a logged crash.
fn reported(error: &RpcError) -> Option<&str> {
    let id = error.message.strip_prefix(REPORTED)?.strip_suffix(')')?;
    let is_id = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && error.code == RpcError::INTERNAL_ERROR && error.data.is_none()).then_some(id)
}

/// The client's error for a failure without a flagged result.
pub(crate) fn answer(failure: &Failure) -> RpcError {
    match failure.rpc_error() {
        Some(error) => error.clone(),
        None if failure.class() == Class::Crash => crash(),
        None => RpcError::new(RpcError::INTERNAL_ERROR, failure.to_string(), None),
    }
}

/// The text for a client about a crash.
fn crash() -> RpcError {
    RpcError::new(RpcError::INTERNAL_ERROR, "internal error", None)
}

/// The client's error for a panic around the calls. The log line does not know it, if the log was
/// open.
pub(crate) fn report_panic(panic: &Failure) -> RpcError {
    let id = CallId::random();
    tracing::error!(call_id = %id, error = %panic.chain(), "a handler, or the stack around it, panicked");
    let mut error = crash();
    error.message = format!("{} (call {id})", error.message);
    error
}

/// The source of a failure, for the log only.
#[derive(Debug, thiserror::Error)]
#[error("thrown outside of its call, and logged there under the id {id}")]
struct Elsewhere {
    id: String,
}
