//! The tools that ask the client while they run.

use crate::fixtures::{text, typed};
use rmcp::{ErrorData, RoleServer, model::ServerRequest, service::RequestContext};
use serde_json::{Value, json};

/// The result of a tool, if it is one of these.
pub(crate) async fn call(
    name: &str,
    arguments: &Value,
    context: &RequestContext<RoleServer>,
) -> Option<Result<Value, ErrorData>> {
    let told = match name {
        "test_sampling" => sample(&arguments["prompt"], context).await,
        "test_elicitation" => {
            let message = arguments["message"].as_str().unwrap_or_default();
            elicit("User response", message, &person(), context).await
        }
        "test_elicitation_sep1034_defaults" => {
            elicit("Elicitation completed", "Who is it?", &defaults(), context).await
        }
        "test_elicitation_sep1330_enums" => {
            elicit("Elicitation completed", "Which of them?", &enums(), context).await
        }
        _ => return None,
    };
    Some(told.map(|told| json!({"content": [text(&told)]})))
}

/// The client's answer to a request.
async fn ask(
    method: &str,
    params: Value,
    context: &RequestContext<RoleServer>,
) -> Result<Value, ErrorData> {
    let request: ServerRequest = typed(json!({"method": method, "params": params}))?;
    let answer = context
        .peer
        .send_request(request)
        .await
        .map_err(|error| ErrorData::internal_error(format!("{method}: {error}"), None))?;
    Ok(json!(answer))
}

async fn sample(prompt: &Value, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let params = json!({"messages": [message], "maxTokens": 100});
    let answer = ask("sampling/createMessage", params, context).await?;
    let blocks = match &answer["content"] {
        Value::Array(blocks) => blocks.first().unwrap_or(&Value::Null),
        block => block,
    };
    let said = blocks["text"].as_str().unwrap_or_default();
    Ok(format!("LLM response: {said}"))
}

async fn elicit(
    headline: &str,
    message: &str,
    schema: &Value,
    context: &RequestContext<RoleServer>,
) -> Result<String, ErrorData> {
    let params = json!({"message": message, "requestedSchema": schema});
    let answer = ask("elicitation/create", params, context).await?;
    let action = answer["action"].as_str().unwrap_or_default();
    let given = &answer["content"];
    Ok(format!("{headline}: action={action}, content={given}"))
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "The name to show"},
            "email": {"type": "string", "description": "Where to write to"},
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {
                "type": "string", "enum": ["active", "inactive", "pending"], "default": "active",
            },
            "verified": {"type": "boolean", "default": true},
        },
    })
}

fn enums() -> Value {
    let titled = |of: &str| {
        ["First", "Second", "Third"]
            .iter()
            .zip(1..)
            .map(|(nth, number)| json!({"const": format!("value{number}"), "title": format!("{nth} {of}")}))
            .collect::<Vec<_>>()
    };
    let options = json!(["option1", "option2", "option3"]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
        },
    })
}
