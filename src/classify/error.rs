use super::{rpc, rules::Rules};
use crate::failure::{BoxError, Chain, Failure, RpcError};

/// Names an error: by the user's rules, by its type, or as a crash.
pub(super) fn classify(error: BoxError, rules: &Rules) -> Failure {
    let by_rule = Chain(&*error)
        .errors()
        .find_map(|cause| rules.on_error(cause));
    if let Some(failure) = by_rule {
        return failure.because(error);
    }
    let error = match error.downcast::<RpcError>() {
        Ok(rpc_error) => return rpc::classify(*rpc_error),
        Err(error) => error,
    };
    // Whichever is further out knows more: a failure may have been made of a JSON-RPC error.
    let named = Chain(&*error)
        .errors()
        .find(|cause| cause.is::<Failure>() || cause.is::<RpcError>())
        .and_then(|cause| cause.downcast_ref::<RpcError>())
        .cloned();
    match named {
        Some(rpc_error) => rpc::classify(rpc_error).because(error),
        None => Failure::from(error),
    }
}
