//! What happens to each kind of answer of a handler.

use crate::support::{Desk, Log, assert_has, call, connect, preset, text};
use mcp_resilience::{
    Failure,
    is_error::META_KEY,
    rmcp::{AnyError, Resilient},
};
use rmcp::{
    ErrorData, ServerHandler,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    model::{
        CallToolRequestParams, CallToolResult, ContentBlock, ErrorCode, JsonObject, MetaObject,
        Tool,
    },
    service::ServiceError,
    tool, tool_handler, tool_router,
};
use serde_json::{Value, json};
use std::{io, sync::Arc};

#[derive(Debug)]
struct Returns {
    tools: ToolRouter<Self>,
}

impl Returns {
    fn new() -> Self {
        Self {
            tools: Self::tool_router(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot read /srv/prices.csv")]
struct PricesUnreadable(#[source] io::Error);

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        other => panic!("no object: {other}"),
    }
}

/// A result with something in every field.
fn full_result(is_error: Option<bool>) -> CallToolResult {
    let mut result = CallToolResult::success(vec![
        ContentBlock::text("first"),
        ContentBlock::image("aGVsbG8=", "image/png"),
        ContentBlock::text("second"),
    ]);
    result.is_error = is_error;
    result.structured_content = Some(json!({"rows": [1, 2], "n": 18_446_744_073_709_551_615_u64}));
    result.with_meta(Some(MetaObject(object(
        json!({"vendor/trace": {"a": null}}),
    ))))
}

#[tool_router]
impl Returns {
    #[tool]
    async fn tool_failure(&self) -> Result<String, Failure> {
        Err(Failure::tool("There is no such row."))
    }

    #[tool]
    async fn invalid_input(&self) -> Result<String, AnyError> {
        Err(Failure::invalid_input("title", "expected a string"))?
    }

    #[tool]
    async fn protocol_failure(&self) -> Result<String, Failure> {
        let data = json!({"mode": "safe"});
        Err(Failure::protocol(-31_001, "not in this mode", Some(data)))
    }

    #[tool]
    async fn any_error(&self) -> Result<String, AnyError> {
        Err(PricesUnreadable(io::Error::other("disk 4 is on fire")))?
    }

    #[tool]
    async fn error_data(&self) -> Result<String, ErrorData> {
        let data = json!({"deep": [1, {"retryAfter": null}]});
        Err(ErrorData::new(ErrorCode(-31_002), "as it is\n", Some(data)))
    }

    #[tool]
    async fn text_error(&self) -> Result<String, String> {
        Err("no such row".to_owned())
    }

    #[tool]
    async fn flagged(&self) -> CallToolResult {
        full_result(Some(true))
    }

    #[tool]
    async fn unflagged(&self) -> CallToolResult {
        full_result(Some(false))
    }

    #[tool]
    async fn without_a_flag(&self) -> CallToolResult {
        full_result(None)
    }

    #[tool]
    async fn echo(&self, Parameters(arguments): Parameters<JsonObject>) -> String {
        Value::Object(arguments).to_string()
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Returns {}

/// Calls a tool of [`Returns`], wrapped; its line is the only one.
async fn returned(tool: &'static str) -> (Result<CallToolResult, ServiceError>, Value) {
    let log = Log::default();
    let server = Resilient::with_preset(Returns::new(), &preset(&log));
    let client = connect(server, ()).await;
    let answer = client.call_tool(call(tool)).await;
    (answer, log.only())
}

/// Calls a tool of [`Returns`] as it is.
async fn returned_bare(tool: &'static str) -> CallToolResult {
    let client = connect(Returns::new(), ()).await;
    client.call_tool(call(tool)).await.unwrap()
}

#[track_caller]
fn error(answer: Result<CallToolResult, ServiceError>) -> ErrorData {
    match answer {
        Err(ServiceError::McpError(error)) => error,
        other => panic!("no JSON-RPC error: {other:#?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_the_model_can_use_is_flagged() {
    let (answer, line) = returned("tool_failure").await;
    let answer = answer.unwrap();
    assert_eq!(
        text(&answer),
        "Error executing tool tool_failure: There is no such row."
    );
    assert_eq!(answer.is_error, Some(true));
    assert_has(&line, &json!({"class": "tool", "level": "INFO"}));
}

#[tokio::test(start_paused = true)]
async fn a_failure_in_any_error_keeps_its_class() {
    let (answer, line) = returned("invalid_input").await;
    let answer = answer.unwrap();
    assert_eq!(
        text(&answer),
        "Error executing tool invalid_input: argument `title`: expected a string. \
         Correct the argument `title` and call it again."
    );
    assert_eq!(answer.is_error, Some(true));
    assert_has(&line, &json!({"class": "invalid_input", "level": "INFO"}));
}

#[tokio::test(start_paused = true)]
async fn a_protocol_failure_is_that_error_of_the_protocol() {
    let (answer, line) = returned("protocol_failure").await;
    let data = json!({"mode": "safe"});
    let wanted = ErrorData::new(ErrorCode(-31_001), "not in this mode", Some(data));
    assert_eq!(error(answer), wanted);
    let wanted = json!({"class": "protocol", "code": -31_001, "is_error": null});
    assert_has(&line, &wanted);
}

#[tokio::test(start_paused = true)]
async fn any_other_error_is_a_crash_that_tells_nothing() {
    let (answer, line) = returned("any_error").await;
    let id = line["call_id"].as_str().unwrap();
    let answer = answer.unwrap();
    assert_eq!(
        text(&answer),
        format!("Error executing tool any_error (call {id})")
    );
    let wire = serde_json::to_string(&answer).unwrap();
    assert!(
        !wire.contains("prices") && !wire.contains("disk 4"),
        "{wire}"
    );
    let wanted = json!({
        "class": "crash", "level": "ERROR",
        "error": "failed unexpectedly: cannot read /srv/prices.csv: disk 4 is on fire",
    });
    assert_has(&line, &wanted);
}

#[tokio::test(start_paused = true)]
async fn the_sdks_own_error_passes_as_it_is() {
    let (answer, line) = returned("error_data").await;
    let data = json!({"deep": [1, {"retryAfter": null}]});
    let wanted = ErrorData::new(ErrorCode(-31_002), "as it is\n", Some(data));
    assert_eq!(error(answer), wanted);
    let wanted = json!({"class": "protocol", "code": -31_002, "attempts": 1, "is_error": null});
    assert_has(&line, &wanted);
}

#[tokio::test(start_paused = true)]
async fn the_tools_own_results_pass_field_for_field() {
    for tool in ["text_error", "flagged", "unflagged", "without_a_flag"] {
        let bare = returned_bare(tool).await;
        let (answer, line) = returned(tool).await;
        assert_eq!(answer.unwrap(), bare, "{tool}");
        let is_error = bare.is_error == Some(true);
        let outcome = if is_error { "failed" } else { "success" };
        assert_has(&line, &json!({"outcome": outcome, "is_error": is_error}));
    }
    let flagged = returned_bare("flagged").await;
    assert!(flagged.meta.is_some() && flagged.structured_content.is_some());
    assert_eq!(text(&returned_bare("text_error").await), "no such row");
}

#[tokio::test(start_paused = true)]
async fn the_tool_gets_the_arguments_that_the_log_masks() {
    let log = Log::default();
    let server = Resilient::with_preset(Returns::new(), &preset(&log));
    let client = connect(server, ()).await;
    let arguments = object(json!({
        "api_key": "s3cr3t", "n": 9_007_199_254_740_993_u64, "nested": {"password": ["a", 1]},
    }));
    let params = CallToolRequestParams::new("echo").with_arguments(arguments.clone());
    let answer = client.call_tool(params).await.unwrap();

    let got: JsonObject = serde_json::from_str(text(&answer)).unwrap();
    assert_eq!(got, arguments);
    let masked = json!({
        "api_key": "[masked]", "n": 9_007_199_254_740_993_u64, "nested": {"password": "[masked]"},
    });
    assert_has(&log.only(), &json!({"arguments": masked}));
}

#[tokio::test(start_paused = true)]
async fn a_tool_with_an_output_schema_gets_its_envelope_in_meta() {
    let log = Log::default();
    let schema = Arc::new(object(json!({"type": "object"})));
    let tool = |name| Tool::new(name, "", JsonObject::default());
    let desk = Desk::new(|_| async { Err(Failure::tool("no such row").into()) })
        .tool(tool("with").with_raw_output_schema(schema))
        .tool(tool("without"));
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
    let with = client.call_tool(call("with")).await.unwrap();
    let without = client.call_tool(call("without")).await.unwrap();

    let envelope = json!({
        "code": "tool", "error": "no such row", "retryable": false, "attempts": 1,
    });
    assert_eq!(with.structured_content, None);
    assert_eq!(with.meta.unwrap().0[META_KEY], envelope);
    assert_eq!(with.is_error, Some(true));
    assert_eq!(without.structured_content, Some(envelope));
    assert_eq!(without.meta, None);
}

#[tokio::test(start_paused = true)]
async fn an_unflagged_envelope_is_flagged_and_the_rest_of_it_stays() {
    let log = Log::default();
    let envelope = json!({"code": "not_found", "error": "no such row"});
    let result = CallToolResult::structured(envelope);
    let unflagged = result.clone();
    let desk = Desk::new(move |_| {
        let result = unflagged.clone();
        async move { Ok(result.into()) }
    });
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;
    let answer = client.call_tool(call("look")).await.unwrap();

    let mut flagged = result;
    flagged.is_error = Some(true);
    // A client of that revision knows no result types, and rmcp sends it none.
    flagged.result_type = None;
    assert_eq!(answer, flagged);
    let wanted = json!({"level": "WARN", "unflagged": true, "attempts": 1});
    assert_has(&log.only(), &wanted);
}
