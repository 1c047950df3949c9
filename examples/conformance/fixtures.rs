//! Texts that the suite expects literally, as the protocol's JSON.

use rmcp::ErrorData;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

/// Silence.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// Reads a fixture as one of the SDK's types.
pub(crate) fn typed<T: DeserializeOwned>(json: Value) -> Result<T, ErrorData> {
    serde_json::from_value(json)
        .map_err(|error| ErrorData::internal_error(format!("a bad fixture: {error}"), None))
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

pub(crate) fn audio() -> Value {
    json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"})
}

pub(crate) fn embedded(uri: &str, kind: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}})
}

/// All tools, in their order.
pub(crate) fn tools() -> Value {
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_logging_tool",
        "test_error_handling",
        "test_tool_with_progress",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_streaming_elicitation",
        "test_missing_capability",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_tampered_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_capabilities",
    ];
    let tool = |name: &str, schema: Value| json!({"name": name, "description": format!("The suite's `{name}`."), "inputSchema": schema});
    let with = |name: &str, argument: &str| {
        let schema = json!({
            "type": "object",
            "properties": {argument: {"type": "string"}},
            "required": [argument],
        });
        tool(name, schema)
    };
    let mut tools: Vec<_> = plain
        .map(|name| tool(name, json!({"type": "object", "properties": {}})))
        .into();
    tools.push(with("test_sampling", "prompt"));
    tools.push(with("test_elicitation", "message"));
    tools.push(tool("test_custom_header", header_schema()));
    tools.push(tool("json_schema_2020_12_tool", modern_schema()));
    tools.into()
}

/// An argument that clients repeat in a header.
fn header_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
        "required": ["value"],
    })
}

/// Keywords of JSON Schema 2020-12 that older versions do not have.
fn modern_schema() -> Value {
    let phone = json!({"required": ["phone"]});
    let email = json!({"required": ["email"]});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [phone, email]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": phone,
        "else": email,
        "additionalProperties": false,
    })
}

pub(crate) fn resources() -> Value {
    let resource = |uri: &str, name: &str, kind: &str| json!({"uri": uri, "name": name, "description": format!("A {name}."), "mimeType": kind});
    json!([
        resource("test://static-text", "static text", "text/plain"),
        resource("test://static-binary", "static image", "image/png"),
        resource("test://watched-resource", "watched text", "text/plain"),
    ])
}

pub(crate) fn templates() -> Value {
    json!([{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "Data of an id.",
        "mimeType": "application/json",
    }])
}

/// The contents at a URI, if there are any.
pub(crate) fn contents(uri: &str) -> Option<Value> {
    let text = |kind: &str, text: &str| json!({"uri": uri, "mimeType": kind, "text": text});
    if let Some(id) = uri.strip_prefix("test://template/") {
        let id = id.strip_suffix("/data")?;
        let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
        return Some(text("application/json", &data.to_string()));
    }
    match uri {
        "test://static-text" => {
            let content = "This is the content of the static text resource.";
            Some(text("text/plain", content))
        }
        "test://static-binary" => Some(json!({"uri": uri, "mimeType": "image/png", "blob": PNG})),
        "test://watched-resource" => Some(text("text/plain", "Nothing new.")),
        _ => None,
    }
}

pub(crate) fn prompts() -> Value {
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments: Vec<_> = arguments
            .iter()
            .map(|name| json!({"name": name, "description": name, "required": true}))
            .collect();
        let description = format!("The suite's `{name}`.");
        json!({"name": name, "description": description, "arguments": arguments})
    };
    json!([
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ])
}

/// The messages of a prompt that needs nothing from the client.
pub(crate) fn messages(prompt: &str, argument: impl Fn(&str) -> String) -> Option<Vec<Value>> {
    let contents = match prompt {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            let told = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
            vec![text(&told)]
        }
        "test_prompt_with_embedded_resource" => vec![
            embedded(
                &argument("resourceUri"),
                "text/plain",
                "Embedded resource content for testing.",
            ),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![image(), text("Please analyze the image above.")],
        _ => return None,
    };
    let user = |content: Value| json!({"role": "user", "content": content});
    Some(contents.into_iter().map(user).collect())
}
