//! How a typed error gets out of a handler whose signature has room only for rmcp's.
//!
//! An [`ErrorData`] holds a code, a text and JSON. A [`Failure`](crate::Failure), or an error that
//! a rule of the user's is to see, is kept here instead, in the task-local of the handler that is
//! being polled; the `ErrorData` that the handler returns carries only a ticket for it. The ticket
//! is exchanged before anyone else sees the `ErrorData`.

use crate::failure::{BoxError, RpcError};
use ::rmcp::{ErrorData, model::ErrorCode};
use serde_json::{Value, json};
use std::cell::RefCell;

tokio::task_local! {
    static KEPT: RefCell<Vec<(u64, BoxError)>>;
}

const TICKET: &str = "io.crates.mcp-resilience/thrown";

/// Runs a handler, and gives what it threw as it threw it.
pub(super) async fn catch<T>(
    handler: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, BoxError> {
    let exchanging = async {
        handler.await.map_err(|error| match redeem(&error) {
            Some(thrown) => thrown,
            None => BoxError::from(rpc_error(error)),
        })
    };
    KEPT.scope(RefCell::default(), exchanging).await
}

/// Keeps an error, and gives the ticket for it; or gives the error back, where no handler of ours
/// is being polled.
pub(super) fn keep(error: BoxError) -> Result<ErrorData, BoxError> {
    let mut error = Some(error);
    let ticket = KEPT.try_with(|kept| {
        // Not to be guessed: an error of somebody else's must not be taken for a ticket.
        let number: u64 = rand::random();
        kept.borrow_mut()
            .extend(error.take().map(|error| (number, error)));
        number
    });
    match (ticket, error) {
        (Ok(number), None) => Ok(ErrorData::new(
            ErrorCode::INTERNAL_ERROR,
            "thrown in a handler",
            Some(json!({ TICKET: number })),
        )),
        (_, Some(error)) => Err(error),
        (Err(error), None) => Err(error.into()),
    }
}

fn redeem(error: &ErrorData) -> Option<BoxError> {
    let number = error.data.as_ref()?.get(TICKET).and_then(Value::as_u64)?;
    KEPT.with(|kept| {
        let mut kept = kept.borrow_mut();
        let at = kept.iter().position(|(ticket, _)| *ticket == number)?;
        Some(kept.swap_remove(at).1)
    })
}

fn rpc_error(error: ErrorData) -> RpcError {
    RpcError::new(error.code.0, error.message, error.data)
}
