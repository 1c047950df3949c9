use super::{rpc, rules::Rules, texts::Session};
use crate::failure::{Border, BoxError, Chain, Class, Failure, Returned, RpcError, Witness};
use std::error::Error;

/// Classifies an error: by the user's rules, by its type, or as a crash.
pub(super) fn classify(error: BoxError, rules: &Rules) -> Failure {
    let (error, is_returned) = Returned::unmark(error);
    name(error, is_returned, rules)
        .contained_in_its_stack()
        .without_foreign_error()
}

/// The user's rules come first.
fn by_rule(error: &(dyn Error + 'static), is_returned: bool, rules: &Rules) -> Option<Failure> {
    // A classified failure is complete, so its sources are not read.
    let has_no_name = |cause: &&(dyn Error + 'static)| {
        let failure = cause.downcast_ref::<Failure>();
        failure.is_none_or(|failure| failure.class() == Class::Crash)
    };
    let failure = Chain(error)
        .errors()
        .take_while(has_no_name)
        .find_map(|cause| rules.on_error(cause))?;
    let mut failure = failure.attributed_to(Witness::Author);
    if is_returned {
        failure = failure.across(Border::Handler);
    }
    Some(read_again(failure, rules))
}

/// The outer one counts: a failure may have been made of a JSON-RPC error.
fn rpc_error(error: &(dyn Error + 'static)) -> Option<RpcError> {
    Chain(error)
        .errors()
        .find(|cause| cause.is::<Failure>() || cause.is::<RpcError>())
        .and_then(|cause| cause.downcast_ref::<RpcError>())
        .cloned()
}

fn name(error: BoxError, is_returned: bool, rules: &Rules) -> Failure {
    if let Some(failure) = by_rule(&*error, is_returned, rules) {
        return failure.because(error);
    }
    let error = match error.downcast::<RpcError>() {
        Ok(error) if is_returned => {
            // By its number it may be about a request that the handler made itself, which has no
            // session to lose.
            let failure = rpc::classify(*error, rules.lookup(), Session::None);
            return failure.across(Border::Handler);
        }
        Ok(error) => return rpc::classify(*error, rules.lookup(), Session::Untold),
        Err(error) => error,
    };
    let error = match error.downcast::<Failure>() {
        Ok(failure) => return read_again(failure.across(Border::Layer), rules),
        Err(error) => error,
    };
    match rpc_error(&*error) {
        Some(rpc_error) => rpc::classify(rpc_error, rules.lookup(), Session::Untold)
            .across(Border::Cause)
            .because(error),
        None if is_returned => Failure::from(error),
        None => Failure::from_any(error),
    }
}

/// The code that made a failure of a JSON-RPC error did not know the user's words.
fn read_again(failure: Failure, rules: &Rules) -> Failure {
    match rules.vocabulary() {
        Some(_) => rpc::read_again(failure, rules.lookup()),
        None => failure,
    }
}
