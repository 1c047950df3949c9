//! How a typed error gets out of a handler whose signature has room only for the SDK's.
//!
//! An SDK's error holds a code, a text and JSON. A [`Failure`], or an error that
//! a rule of the user's is to see, is kept here instead, in the task-local of the handler that is
//! being polled, beside the JSON-RPC error that says honestly what it can. If the handler returns that
//! one as it was, what was kept goes up in its place; one that it changed is its own.

use crate::{
    failure::{BoxError, Chain, Class, Failure, RpcError},
    ledger::CallId,
};
use std::cell::RefCell;

tokio::task_local! {
    static KEPT: RefCell<Vec<(RpcError, BoxError)>>;
}

/// A handler that throws more than so many, and returns none of them, has no use for the oldest.
const CAPACITY: usize = 16;

/// Runs a handler whose errors are to be [exchanged](exchange), or [taken](take), in the same future.
pub(crate) async fn keeping<T>(handler: impl Future<Output = T>) -> T {
    KEPT.scope(RefCell::default(), handler).await
}

/// What a handler threw, for the error that it returned.
pub(crate) fn exchange(error: RpcError) -> BoxError {
    take(|meanwhile| *meanwhile == error).unwrap_or_else(|| match reported(&error) {
        Some(id) => Failure::crash(Elsewhere { id: id.to_owned() }).into(),
        None => error.into(),
    })
}

/// Takes what was kept last of those that this stands for.
pub(crate) fn take(is_it: impl Fn(&RpcError) -> bool) -> Option<BoxError> {
    KEPT.with(|kept| {
        let mut kept = kept.borrow_mut();
        let at = kept.iter().rposition(|(meanwhile, _)| is_it(meanwhile))?;
        Some(kept.swap_remove(at).1)
    })
}

/// Keeps an error, and gives what stands for it meanwhile.
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
        // No handler of ours is being polled here, but a task that one has spawned, or a handler
        // that nobody wrapped.
        Some(thrown) if is_kept.is_err() => report(&thrown, meanwhile),
        _ => meanwhile,
    }
}

/// What the message of a crash says that nothing can keep.
const REPORTED: &str = "internal error (id ";

/// Logs what is about to be lost. A crash says nothing by itself, so it gets an id to find it by.
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

/// The id of a crash that was reported.
fn reported(error: &RpcError) -> Option<&str> {
    let id = error.message.strip_prefix(REPORTED)?.strip_suffix(')')?;
    let is_id = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && error.code == RpcError::INTERNAL_ERROR && error.data.is_none()).then_some(id)
}

/// What a client gets for a failure that no flagged result stands for.
pub(crate) fn answer(failure: &Failure) -> RpcError {
    match failure.rpc_error() {
        Some(error) => error.clone(),
        None if failure.class() == Class::Crash => crash(),
        None => RpcError::new(RpcError::INTERNAL_ERROR, failure.to_string(), None),
    }
}

/// What a client may know of a crash.
fn crash() -> RpcError {
    RpcError::new(RpcError::INTERNAL_ERROR, "internal error", None)
}

/// What a client gets for a panic of something around the calls, whose line, if the log was still
/// open, does not know it.
pub(crate) fn report_panic(panic: &Failure) -> RpcError {
    let id = CallId::random();
    tracing::error!(call_id = %id, error = %panic.chain(), "a handler, or the stack around it, panicked");
    let mut error = crash();
    error.message = format!("{} (call {id})", error.message);
    error
}

/// The source of a failure of which only the log knows.
#[derive(Debug, thiserror::Error)]
#[error("thrown outside of its call, and logged there under the id {id}")]
struct Elsewhere {
    id: String,
}
