use super::{rpc, rules::Rules};
use crate::failure::{BoxError, Chain, Class, Failure, RpcError};
use std::error::Error;

/// Names an error: by the user's rules, by its type, or as a crash.
pub(super) fn classify(error: BoxError, rules: &Rules) -> Failure {
    let mut failure = name(error, rules);
    // A stack that the tool called on through has shut. That is the tool's trouble, and not the
    // end of this one.
    if failure.class() == Class::Fatal && failure.is_confined() {
        failure.set_class(Class::Disabled);
    }
    failure
}

fn name(error: BoxError, rules: &Rules) -> Failure {
    // A failure with a name knows what it holds: what stands behind it is not looked at.
    let has_no_name = |cause: &&(dyn Error + 'static)| {
        let failure = cause.downcast_ref::<Failure>();
        failure.is_none_or(|failure| failure.class() == Class::Crash)
    };
    let by_rule = Chain(&*error)
        .errors()
        .take_while(has_no_name)
        .find_map(|cause| rules.on_error(cause));
    if let Some(failure) = by_rule {
        return read_again(failure, rules).because(error);
    }
    let error = match error.downcast::<RpcError>() {
        Ok(rpc_error) => return rpc::classify(*rpc_error, rules.lookup()),
        Err(error) => error,
    };
    // Whichever is further out knows more: a failure may have been made of a JSON-RPC error.
    let named = Chain(&*error)
        .errors()
        .find(|cause| cause.is::<Failure>() || cause.is::<RpcError>())
        .and_then(|cause| cause.downcast_ref::<RpcError>())
        .cloned();
    let Some(rpc_error) = named else {
        let is_bare = error.is::<Failure>();
        let failure = Failure::from(error);
        return if is_bare {
            read_again(failure, rules)
        } else {
            failure
        };
    };
    // Somebody wrapped it: whether it was this call that was refused, or one of the tool's own
    // after half its work, does not show.
    let failure = rpc::classify(rpc_error, rules.lookup());
    failure.only_a_cause().because(error)
}

/// Whoever made the failure of a JSON-RPC error did not know the user's words.
fn read_again(failure: Failure, rules: &Rules) -> Failure {
    match rules.words() {
        Some(_) => rpc::read_again(failure, rules.lookup()),
        None => failure,
    }
}
