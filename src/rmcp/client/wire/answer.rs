use super::{
    asked::Asked,
    error::{self, is_blank, says_nothing},
    outline::{Member, Outline},
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

/// Reads an answer. If `is_alone` is false, it is not whole.
///
/// # Errors
///
/// Why it cannot be read.
pub(super) fn read(outline: &Outline<'_>, asked: &Asked, is_alone: bool) -> Result<Answer, String> {
    let value = |member: Option<Member<'_>>| member.map(|member| member.value);
    let id = value(outline.only("id")?);
    let is_its_id = id == Some(asked.id.clone().into_json_value());
    let (result, error) = (outline.only("result")?, value(outline.only("error")?));
    let is_plain = is_alone && outline.is_plain() && result.as_ref().is_some_and(Member::is_exact);
    let (result, error) = match (value(result), error) {
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
