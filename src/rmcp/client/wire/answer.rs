use super::{
    asked::Asked,
    error::{self, is_blank, says_nothing},
    members::Members,
    result,
};
use crate::failure::Failure;
use ::rmcp::model::ServerJsonRpcMessage;
use serde_json::Value;

/// An answer, and whether rmcp reads the same in its text.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) message: ServerJsonRpcMessage,
    pub(super) is_whole: bool,
}

/// Reads the members of an answer with this number of values in its text. There are more than in its
/// members if some came twice.
///
/// # Errors
///
/// Why it cannot be read.
pub(super) fn read(mut members: Members, asked: &Asked, values: usize) -> Result<Answer, String> {
    let is_plain = members.is_plain() && members.values() == values;
    let id = members.only("id")?;
    let is_its_id = id == Some(asked.id.clone().into_json_value());
    let (result, error) = (members.only("result")?, members.only("error")?);
    let (result, error) = match (result, error) {
        (Some(result), Some(error)) if is_blank(&result) && !says_nothing(&error) => {
            (None, Some(error))
        }
        (result, Some(error)) if says_nothing(&error) => (result, None),
        (Some(_), Some(_)) => return Err("it has both a result and an error".to_owned()),
        one => one,
    };
    if let Some(error) = error {
        let message = ServerJsonRpcMessage::error(error::read(error), Some(asked.id.clone()));
        return Ok(Answer {
            message,
            is_whole: false,
        });
    }
    let Some(result) = result.or_else(|| asked.takes_null().then_some(Value::Null)) else {
        return Err("it has neither a result nor an error".to_owned());
    };
    let read = result::read(result, asked.kind)?;
    if !read.lost.is_empty() {
        let failure = Failure::invalid_output(read.lost.join("; "));
        tracing::warn!(error = %failure.chain(), "a part of an answer was left out");
    }
    Ok(Answer {
        message: ServerJsonRpcMessage::response(read.result, asked.id.clone()),
        is_whole: read.is_whole && is_its_id && is_plain,
    })
}
