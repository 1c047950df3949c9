//! How a typed error gets out of a handler whose signature has room only for rmcp's.
//!
//! An [`ErrorData`] holds a code, a text and JSON. A [`Failure`](crate::Failure), or an error that
//! a rule of the user's is to see, is kept here instead, in the task-local of the handler that is
//! being polled, beside the `ErrorData` that says honestly what it can. If the handler returns that
//! one as it was, what was kept goes up in its place; one that it changed is its own.

use crate::{
    failure::{BoxError, Chain, Failure, Returned, RpcError},
    ledger::CallId,
};
use ::rmcp::{ErrorData, model::ErrorCode};
use std::cell::RefCell;

tokio::task_local! {
    static KEPT: RefCell<Vec<(ErrorData, BoxError)>>;
}

/// A handler that throws more than so many, and returns none of them, has no use for the oldest.
const CAPACITY: usize = 16;

/// Runs a handler, and gives what it threw as it threw it; but for what only its author may say of
/// the call.
pub(super) async fn catch<T>(
    handler: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, BoxError> {
    let exchanging = async {
        let answer = handler.await;
        answer.map_err(|error| Returned::by_handler(exchange(error)))
    };
    KEPT.scope(RefCell::default(), exchanging).await
}

fn exchange(error: ErrorData) -> BoxError {
    let thrown = KEPT.with(|kept| {
        let mut kept = kept.borrow_mut();
        let at = kept
            .iter()
            .rposition(|(meanwhile, _)| *meanwhile == error)?;
        Some(kept.swap_remove(at).1)
    });
    thrown.unwrap_or_else(|| match reported(&error) {
        Some(id) => Failure::crash(Elsewhere { id: id.to_owned() }).into(),
        None => RpcError::new(error.code.0, error.message, error.data).into(),
    })
}

/// Keeps an error, and gives what stands for it meanwhile.
pub(super) fn keep(thrown: BoxError, meanwhile: ErrorData) -> ErrorData {
    let mut thrown = Some(thrown);
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
fn report(thrown: &BoxError, mut meanwhile: ErrorData) -> ErrorData {
    if meanwhile == crash() {
        let id = CallId::random();
        tracing::error!(
            call_id = %id,
            error = %Chain(&**thrown),
            "a handler failed unexpectedly, outside of its call"
        );
        meanwhile.message = format!("{REPORTED}{id})").into();
    } else {
        tracing::debug!(error = %Chain(&**thrown), "a failure outside of its call becomes an error of the protocol");
    }
    meanwhile
}

/// The id of a crash that was reported.
fn reported(error: &ErrorData) -> Option<&str> {
    let id = error.message.strip_prefix(REPORTED)?.strip_suffix(')')?;
    let is_id = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && error.code == ErrorCode::INTERNAL_ERROR && error.data.is_none()).then_some(id)
}

/// What a client may know of a crash.
pub(super) fn crash() -> ErrorData {
    ErrorData::internal_error("internal error", None)
}

/// The source of a failure of which only the log knows.
#[derive(Debug, thiserror::Error)]
#[error("thrown outside of its call, and logged there under the id {id}")]
struct Elsewhere {
    id: String,
}
