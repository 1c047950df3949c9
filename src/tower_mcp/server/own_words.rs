//! tower-mcp's own texts in a flagged result.

use super::{ServerAnswer, error::json_rpc_error};
use crate::{
    call::ToolResult,
    failure::{BoxError, Class, Failure},
    serve::thrown,
};
use ::tower_mcp::Error;

/// The beginnings of its texts for invalid arguments.
const BAD_ARGUMENTS: [&str; 2] = ["Invalid input: ", "Invalid input at `"];

/// Its text before an extractor's error.
const OF_EXTRACTOR: &str = "Tool error: ";

/// The meaning of a flagged result that tower-mcp made: of an error of the handler, or because it
/// could not read the arguments.
pub(super) fn read(answer: ServerAnswer) -> Result<ServerAnswer, BoxError> {
    if !answer.is_error() {
        return Ok(answer);
    }
    let Some(text) = only_text(&answer) else {
        return Ok(answer);
    };
    // The router has turned the error into text.
    let shown = |error: &_| Error::JsonRpc(json_rpc_error(Clone::clone(error))).to_string();
    if let Some(thrown) = thrown::take(|meanwhile| shown(meanwhile) == text) {
        return Err(thrown);
    }
    let said = text.strip_prefix(OF_EXTRACTOR).unwrap_or(text);
    if BAD_ARGUMENTS.iter().any(|begin| said.starts_with(begin)) {
        let message = said.to_owned();
        let failure = Failure::new(Class::InvalidInput, message);
        return Err(failure.with_result(answer).into());
    }
    Ok(answer)
}

fn only_text(answer: &ServerAnswer) -> Option<&str> {
    let mut texts = answer.texts();
    match (texts.next(), texts.next(), answer.structured()) {
        (Some(text), None, None) => Some(text),
        _ => None,
    }
}
