//! Answers that are neither a success nor a failure: they pass as they are, once.

use crate::support::{
    Desk, Log, Raw, Run, assert_has, call, connect_modern, modern, ok, preset, text,
};
use mcp_resilience::rmcp::Resilient;
use rmcp::{
    ErrorData, ServerHandler,
    model::{
        CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock,
        CreateTaskResult, GetPromptRequestParams, GetPromptResponse, Implementation,
        InputRequiredResult, JsonObject, MetaObject, ReadResourceRequestParams,
        ReadResourceResponse, ServerCapabilities, ServerConfig, Task, TaskStatus, ToolAnnotations,
    },
    service::{RequestContext, RoleServer},
};
use serde_json::{Value, json};

fn meta() -> MetaObject {
    let Value::Object(meta) = json!({"vendor/round": 1}) else {
        unreachable!("it is one")
    };
    MetaObject(meta)
}

/// Looks like a refusal, but is not one.
fn input_required() -> InputRequiredResult {
    InputRequiredResult::from_request_state("opaque \"state\"\n").with_meta(meta())
}

fn task() -> CreateTaskResult {
    let mut task = Task::new(
        "t-1",
        TaskStatus::Failed,
        "2026-07-28T00:00:00Z",
        "2026-07-28T00:00:01Z",
    );
    task.status_message = Some("rate_limited".to_owned());
    CreateTaskResult::new(task).with_meta(meta())
}

/// A tool that may run as often as one likes.
fn harmless(desk: Desk) -> Desk {
    let hints = ToolAnnotations::new().read_only(true).idempotent(true);
    desk.annotated("harmless", hints)
}

/// A client that can be given tasks.
fn with_tasks() -> ClientConfig {
    let capabilities = ClientCapabilities::builder().enable_tasks().build();
    ClientConfig::new(capabilities, Implementation::default())
}

/// The client's answer from such a tool, wrapped and bare. The tool ran once.
async fn answered(answer: CallToolResponse) -> (Value, Value) {
    let desk = |answer: CallToolResponse| {
        harmless(Desk::new(move |_| {
            let answer = answer.clone();
            async move { Ok(answer) }
        }))
    };
    let client = connect_modern(desk(answer.clone()), with_tasks()).await;
    let bare = client.peer().call_tool_once(call("harmless")).await;

    let log = Log::default();
    let wrapped = desk(answer);
    let attempts = wrapped.attempts();
    let server = Resilient::with_preset(wrapped, &preset(&log));
    let client = connect_modern(server, with_tasks()).await;
    let answer = client.peer().call_tool_once(call("harmless")).await;

    assert_eq!(attempts.so_far(), [1], "not repeated");
    let wanted = json!({
        "level": "INFO", "outcome": "interim", "is_error": null, "attempts": 1, "class": null,
    });
    assert_has(&log.only(), &wanted);
    (json(&answer.unwrap()), json(&bare.unwrap()))
}

fn json(response: &CallToolResponse) -> Value {
    match response {
        CallToolResponse::Complete(result) => serde_json::to_value(result),
        CallToolResponse::InputRequired(result) => serde_json::to_value(result),
        CallToolResponse::Task(result) => serde_json::to_value(result),
        other => panic!("an answer that this test does not know: {other:?}"),
    }
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_asks_for_input_is_passed_on_untouched() {
    let (wrapped, bare) = answered(input_required().into()).await;
    assert_eq!(wrapped, bare);
    let wanted = json!({
        "resultType": "input_required", "requestState": "opaque \"state\"\n",
        "_meta": {"vendor/round": 1},
    });
    assert_has(&wrapped, &wanted);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_makes_a_task_of_it_is_passed_on_untouched() {
    let (wrapped, bare) = answered(task().into()).await;
    assert_eq!(wrapped, bare);
    let wanted = json!({
        "resultType": "task", "taskId": "t-1", "status": "failed",
        "statusMessage": "rate_limited",
    });
    assert_has(&wrapped, &wanted);
}

#[tokio::test(start_paused = true)]
async fn a_result_of_an_unknown_type_is_passed_on_untouched() {
    let desk = || {
        harmless(Desk::new(|_| async {
            let mut result = CallToolResult::structured_error(json!({
                "code": "rate_limited", "error": "slow down", "retryAfter": 1,
            }));
            result.result_type = Some(serde_json::from_value(json!("streaming")).unwrap());
            Ok(result.into())
        }))
    };
    // rmcp's client does not read such a thing.
    let params = || modern(json!({"name": "harmless"}));
    let bare = Raw::open(desk()).request("tools/call", params()).await;

    let log = Log::default();
    let wrapped = desk();
    let attempts = wrapped.attempts();
    let mut client = Raw::open(Resilient::with_preset(wrapped, &preset(&log)));
    let answer = client.request("tools/call", params()).await;

    assert_eq!(answer, bare);
    let wanted = json!({"resultType": "streaming", "isError": true});
    assert_has(&answer["result"], &wanted);
    assert_eq!(attempts.so_far(), [1], "not repeated");
    assert_has(
        &log.only(),
        &json!({"outcome": "interim", "is_error": null}),
    );
}

#[tokio::test(start_paused = true)]
async fn the_rounds_of_a_tool_that_asks_are_calls_of_their_own() {
    let desk = harmless(Desk::new(|run: Run| async move {
        match run.params.request_state.as_deref() {
            None => Ok(InputRequiredResult::from_request_state("round 2").into()),
            Some("round 2") => ok("done"),
            Some(other) => panic!("the state is echoed as it is: {other}"),
        }
    }));
    let attempts = desk.attempts();
    let log = Log::default();
    let server = Resilient::with_preset(desk, &preset(&log));
    let client = connect_modern(server, ()).await;

    let answer = client.call_tool(call("harmless")).await.unwrap();
    assert_eq!(text(&answer), "done");
    assert_eq!(attempts.so_far(), [1, 1], "two calls of one attempt each");
    let outcomes: Vec<_> = log.all().iter().map(|l| l["outcome"].clone()).collect();
    assert_eq!(outcomes, ["interim", "success"]);
}

#[tokio::test(start_paused = true)]
async fn a_complete_result_keeps_its_type_and_its_unstructured_content() {
    let log = Log::default();
    let mut result = CallToolResult::success(vec![ContentBlock::text("fine")]);
    result.structured_content = Some(json!([1, "two", null]));
    let complete = result.clone();
    let desk = Desk::new(move |_| {
        let result = complete.clone();
        async move { Ok(result.into()) }
    });
    let server = Resilient::with_preset(desk, &preset(&log));
    let client = connect_modern(server, ()).await;
    let answer = client.call_tool(call("list")).await.unwrap();
    assert_eq!(answer, result);
    assert!(answer.result_type.is_some());
}

/// Asks for input in every method that may.
#[derive(Debug)]
struct Asks;

impl ServerHandler for Asks {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder();
        ServerConfig::new(capabilities.enable_resources().enable_prompts().build())
    }

    async fn read_resource(
        &self,
        _: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(input_required().into())
    }

    async fn get_prompt(
        &self,
        _: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(input_required().into())
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_or_a_prompt_that_asks_for_input_is_passed_on_untouched() {
    let log = Log::default();
    let server = Resilient::with_preset(Asks, &preset(&log));
    let client = connect_modern(server, ()).await;
    let wanted = serde_json::to_value(input_required()).unwrap();

    let read = ReadResourceRequestParams::new("shelf://1");
    let read = client.peer().read_resource_once(read).await.unwrap();
    let ReadResourceResponse::InputRequired(asked) = read else {
        panic!("no question: {read:?}");
    };
    assert_eq!(serde_json::to_value(asked).unwrap(), wanted);

    let mut prompt = GetPromptRequestParams::new("pick");
    prompt.arguments = Some(JsonObject::new());
    let prompt = client.peer().get_prompt_once(prompt).await.unwrap();
    let GetPromptResponse::InputRequired(asked) = prompt else {
        panic!("no question: {prompt:?}");
    };
    assert_eq!(serde_json::to_value(asked).unwrap(), wanted);

    let lines = log.all();
    assert_eq!(lines.len(), 2);
    for line in lines {
        assert_has(&line, &json!({"outcome": "interim", "attempts": 1}));
    }
}
