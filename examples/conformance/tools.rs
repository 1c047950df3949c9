//! The tools that answer by themselves.

use crate::fixtures::{audio, embedded, image, text};
use rmcp::{
    RoleServer,
    model::{LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam},
    service::RequestContext,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

const STEP: Duration = Duration::from_millis(50);

/// The result of a tool, if it is one of these.
pub(crate) async fn call(name: &str, context: &RequestContext<RoleServer>) -> Option<Value> {
    let blocks = match name {
        "test_simple_text" => vec![text("This is a simple text response for testing.")],
        "test_image_content" => vec![image()],
        "test_audio_content" => vec![audio()],
        "test_embedded_resource" => vec![embedded(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )],
        "test_multiple_content_types" => vec![
            text("Multiple content types test:"),
            image(),
            embedded(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ],
        "test_error_handling" => {
            let told = text("This tool intentionally returns an error for testing");
            return Some(json!({"content": [told], "isError": true}));
        }
        "test_tool_with_logging" | "test_logging_tool" => {
            log(context).await;
            vec![text("Three messages were sent.")]
        }
        "test_tool_with_progress" => {
            make_progress(context).await;
            vec![text("All was done.")]
        }
        "json_schema_2020_12_tool" => vec![text("The arguments are fine.")],
        _ => return None,
    };
    Some(json!({"content": blocks}))
}

async fn log(context: &RequestContext<RoleServer>) {
    let meta = json!(context.meta);
    let has = |name: &str| {
        meta.get(format!("io.modelcontextprotocol/{name}"))
            .is_some()
    };
    // Without sessions, each request sets the log level.
    if has("protocolVersion") && !has("logLevel") {
        return;
    }
    for message in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        let param = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
        // The client may not listen to logs.
        let _ = context.peer.notify_logging_message(param).await;
        sleep(STEP).await;
    }
}

async fn make_progress(context: &RequestContext<RoleServer>) {
    let token = context.meta.get_progress_token();
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = &token {
            let param = ProgressNotificationParam::new(token.clone(), progress).with_total(100.0);
            let _ = context.peer.notify_progress(param).await;
        }
        sleep(STEP).await;
    }
}
