use super::envelope::Envelope;
use crate::{
    failure::{Class, Failure},
    text::is_blank,
};
use serde_json::Value;

/// The failure that structured content without a flag clearly describes: a documented code and a
/// text, both at the top.
///
/// Other codes do not count, since documents have them too.
pub(crate) fn read_unflagged(value: &Value) -> Option<Failure> {
    let object = value.as_object()?;
    let text = |key| object.get(key).and_then(Value::as_str);
    let code = ["code", "error_code", "errorCode"]
        .into_iter()
        .find_map(text)?;
    let class = Class::from_documented_code(code)?;
    let mut messages = ["error", "message"].into_iter().filter_map(text);
    let is_told = messages.any(|message| !is_blank(message));
    is_told.then(|| Envelope::of_unflagged(value, class))
}
