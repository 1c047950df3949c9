//! How a typed error gets out of a handler whose signature has room only for rmcp's.
//!
//! An [`ErrorData`] holds a code, a text and JSON. A [`Failure`](crate::Failure), or an error that
//! a rule of the user's is to see, is kept here instead, in the task-local of the handler that is
//! being polled; the `ErrorData` that the handler returns says honestly what it can, and carries a
//! ticket for the rest. Where the ticket cannot be exchanged, as in another call to which the
//! handler handed the `ErrorData` on, it is taken off.

use crate::failure::{BoxError, RpcError};
use ::rmcp::ErrorData;
use serde_json::{Map, Value};
use std::cell::RefCell;

tokio::task_local! {
    static KEPT: RefCell<Vec<(u64, BoxError)>>;
}

/// Where the `data` of an error holds the ticket, and beside it what it would hold without.
const TICKET: &str = "io.crates.mcp-resilience/thrown";
const DATA: &str = "data";

/// Runs a handler, and gives what it threw as it threw it.
pub(super) async fn catch<T>(
    handler: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, BoxError> {
    let exchanging = async {
        handler
            .await
            .map_err(|mut error| match take_ticket(&mut error).and_then(redeem) {
                Some(thrown) => thrown,
                None => RpcError::new(error.code.0, error.message, error.data).into(),
            })
    };
    KEPT.scope(RefCell::default(), exchanging).await
}

/// Keeps an error, and puts the ticket for it on what stands for it meanwhile; unless no handler
/// of ours is being polled.
pub(super) fn keep(thrown: BoxError, mut error: ErrorData) -> ErrorData {
    // Not to be guessed: an error of somebody else's must not be taken for one with a ticket.
    let number: u64 = rand::random();
    let is_kept = KEPT.try_with(|kept| kept.borrow_mut().push((number, thrown)));
    if is_kept.is_ok() {
        let mut data = Map::new();
        data.insert(TICKET.to_owned(), number.into());
        data.extend(error.data.take().map(|own| (DATA.to_owned(), own)));
        error.data = Some(Value::Object(data));
    }
    error
}

fn take_ticket(error: &mut ErrorData) -> Option<u64> {
    let data = error.data.as_mut()?.as_object_mut()?;
    let number = data.get(TICKET)?.as_u64();
    error.data = data.remove(DATA);
    number
}

fn redeem(number: u64) -> Option<BoxError> {
    KEPT.with(|kept| {
        let mut kept = kept.borrow_mut();
        let at = kept.iter().position(|(ticket, _)| *ticket == number)?;
        Some(kept.swap_remove(at).1)
    })
}
