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
    if error.is::<Failure>() {
        return Failure::from(error);
    }
    let by_code = Chain(&*error)
        .errors()
        .find_map(|cause| cause.downcast_ref::<RpcError>());
    match by_code {
        Some(rpc_error) => rpc::classify(rpc_error.clone()),
        None => Failure::from(error),
    }
}
