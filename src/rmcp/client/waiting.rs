//! A wait that a server asks for in a header, beside an answer that holds none or a shorter one.

use crate::{
    call::ToolResult,
    classify::{self, retry_after},
    failure::Failure,
    rmcp::Answer,
};
use std::time::Duration;

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
    // By its proposal, the wait of a rate limit error beats the header.
    let own = failure.rpc_error().and_then(retry_after::in_rate_limited);
    Err(if own.is_some() {
        failure
    } else {
        let longest = failure.retry_after().max(Some(wait));
        failure.with_retry_after(longest)
    })
}
