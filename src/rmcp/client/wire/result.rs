use super::{asked::Kind, content::Content};
use ::rmcp::model::{
    CallToolResult, CompleteResult, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, ReadResourceResult,
    ServerResult,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A result, and the parts that were left out.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) result: ServerResult,
    pub(super) lost: Vec<String>,
    /// Whether it is unchanged.
    pub(super) is_whole: bool,
}

impl From<ServerResult> for Read {
    fn from(result: ServerResult) -> Self {
        Self {
            result,
            lost: Vec::new(),
            is_whole: true,
        }
    }
}

/// Reads a result of the requested kind.
///
/// # Errors
///
/// Why it cannot be read.
pub(super) fn read(result: Value, kind: Kind) -> Result<Read, String> {
    let mut result = match (result, kind) {
        (result @ Value::Object(_), _) => result,
        (_, Kind::Empty) => return Ok(ServerResult::empty(()).into()),
        (other, _) => return Err(format!("its result is {}, not an object", name(&other))),
    };
    match kind {
        Kind::Tool if says_nothing(&result) && interim(&result).is_none() => {
            Err("its result is empty".to_owned())
        }
        Kind::Tool => {
            let is_changed = flag_by_other_name(&mut result);
            match CallToolResult::deserialize(&result) {
                Ok(result) => Ok(Read {
                    is_whole: !is_changed,
                    ..Read::from(ServerResult::CallToolResult(result))
                }),
                Err(_) => tool(result),
            }
        }
        Kind::Resource => typed::<ReadResourceResult>(&result),
        Kind::Prompt => typed::<GetPromptResult>(&result),
        Kind::ToolList => typed::<ListToolsResult>(&result),
        Kind::ResourceList => typed::<ListResourcesResult>(&result),
        Kind::TemplateList => typed::<ListResourceTemplatesResult>(&result),
        Kind::PromptList => typed::<ListPromptsResult>(&result),
        Kind::Completion => typed::<CompleteResult>(&result),
        Kind::Empty | Kind::Other => any(&result),
    }
}

/// Flags the result of a tool if the server wrote the flag in another way, such as `is_error`. rmcp
/// would take the failure for a success.
fn flag_by_other_name(result: &mut Value) -> bool {
    const FLAG: &str = "isError";
    let Value::Object(members) = result else {
        return false;
    };
    let is_flag =
        |name: &str| name != FLAG && name.replace(['_', '-'], "").eq_ignore_ascii_case(FLAG);
    let is_flagged = members
        .iter()
        .any(|(name, value)| is_flag(name) && flag(value) == Ok(true));
    if is_flagged {
        members.insert(FLAG.to_owned(), json!(true));
    }
    is_flagged
}

/// A result of that type, or one that announces a later one.
fn typed<'a, T: Deserialize<'a> + Into<ServerResult>>(result: &'a Value) -> Result<Read, String> {
    match T::deserialize(result) {
        Ok(result) => Ok(result.into().into()),
        Err(error) => interim(result).ok_or_else(|| format!("its result cannot be read: {error}")),
    }
}

fn any(result: &Value) -> Result<Read, String> {
    let result = ServerResult::deserialize(result);
    result
        .map(Read::from)
        .map_err(|error| format!("its result cannot be read: {error}"))
}

/// A request for input, or a task.
fn interim(result: &Value) -> Option<Read> {
    match ServerResult::deserialize(result).ok()? {
        result @ (ServerResult::InputRequiredResult(_) | ServerResult::CreateTaskResult(_)) => {
            Some(result.into())
        }
        _ => None,
    }
}

/// Corrects an invalid result of a tool.
fn tool(result: Value) -> Result<Read, String> {
    if let Some(interim) = interim(&result) {
        return Ok(interim);
    }
    let Value::Object(mut members) = result else {
        return Err("its result is not an object".to_owned());
    };
    members.retain(|name, value| !value.is_null() || name == "structuredContent");
    let flag = members.remove("isError").as_ref().map(flag).transpose()?;
    let content = members.remove("content").map(Content::read).transpose()?;
    if let Some(content) = &content
        && content.is_lost()
        && !members.contains_key("structuredContent")
    {
        return Err(format!(
            "nothing of its result can be read: {}",
            content.lost[0]
        ));
    }
    let mut lost = Vec::new();
    leave_out(&mut members, "_meta", Value::is_object, &mut lost);
    leave_out(&mut members, "resultType", Value::is_string, &mut lost);
    let has_content = content.is_some();
    let content = content.unwrap_or_default();
    if let Some(is_error) = flag {
        members.insert("isError".to_owned(), json!(is_error));
    }
    if has_content {
        members.insert("content".to_owned(), json!([]));
    }
    let mut result: CallToolResult = serde_json::from_value(Value::Object(members))
        .map_err(|error| format!("its result cannot be read: {error}"))?;
    result.content = content.blocks;
    lost.extend(content.lost);
    Ok(Read {
        result: ServerResult::CallToolResult(result),
        lost,
        is_whole: false,
    })
}

/// Whether the result of a tool has no content: rmcp would take it for a success.
fn says_nothing(result: &Value) -> bool {
    let is_bare = |(name, value): (&String, &Value)| match name.as_str() {
        "_meta" | "resultType" => true,
        "isError" => flag(value) == Ok(false),
        _ => value.is_null() && name != "structuredContent",
    };
    result
        .as_object()
        .is_some_and(|members| members.iter().all(is_bare))
}

fn flag(flag: &Value) -> Result<bool, String> {
    match flag {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Value::Number(number) if number.as_f64() == Some(1.0) => Ok(true),
        Value::Number(number) if number.as_f64() == Some(0.0) => Ok(false),
        _ => Err("its `isError` is neither true nor false".to_owned()),
    }
}

/// Leaves out a member of a wrong type, if the result is complete without it.
fn leave_out(
    members: &mut Map<String, Value>,
    name: &str,
    is_right: fn(&Value) -> bool,
    lost: &mut Vec<String>,
) {
    if members.get(name).is_some_and(|value| !is_right(value)) {
        members.remove(name);
        lost.push(format!(
            "`{name}` was left out, since it is of a wrong kind"
        ));
    }
}

fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
