//! A wait that a server asks for in a header, beside an answer that holds none or a shorter one.

use crate::{call::ToolResult, classify, failure::Failure, rmcp::Answer};
use std::time::Duration;

/// The code whose own wait beats the header, by its proposal.
const RATE_LIMITED: i32 = -32023;

/// Adds the wait to a failure, or to a flagged result, which is a failure then. It does not say whether
/// the call may be repeated.
pub(super) fn after(answer: Result<Answer, Failure>, wait: Duration) -> Result<Answer, Failure> {
    let failure = match answer {
        Ok(answer) if !answer.is_error() => return Ok(answer),
        Ok(flagged) => {
            let mut failure = match classify::name_result(flagged) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            failure.set_unclassified_result();
            failure
        }
        Err(failure) => failure,
    };
    let own = failure.retry_after();
    let code = failure.rpc_error().map(|error| error.code);
    Err(if code == Some(RATE_LIMITED) && own.is_some() {
        failure
    } else {
        failure.with_retry_after(own.max(Some(wait)))
    })
}
