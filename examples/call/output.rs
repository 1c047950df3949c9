use super::{FLAGGED, REJECTED};
use mcp_resilience::Failure;
use rmcp::model::{CallToolResponse, Tool};
use serde_json::{Value, json};
use std::io::{self, Write};

pub(crate) fn answer(answer: Result<CallToolResponse, Failure>) -> u8 {
    match answer {
        Ok(CallToolResponse::Complete(result)) => {
            let code = if result.is_error == Some(true) {
                FLAGGED
            } else {
                0
            };
            print(&json!(result));
            code
        }
        Ok(CallToolResponse::InputRequired(result)) => {
            print(&json!(result));
            0
        }
        Ok(CallToolResponse::Task(result)) => {
            print(&json!(result));
            0
        }
        Ok(_) => 0,
        Err(failure) => {
            complain(&match failure.rpc_error() {
                Some(error) => format!("error {}: {}", error.code, error.message),
                None => format!("error: {}", failure.chain()),
            });
            REJECTED
        }
    }
}

pub(crate) fn list(tools: &[Tool]) -> u8 {
    let listed = tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "annotations": tool.annotations,
        })
    });
    print(&Value::Array(listed.collect()));
    0
}

fn print(value: &Value) {
    // Whoever reads may have read enough.
    let _ = writeln!(io::stdout(), "{value:#}");
}

/// In one write: the log has the same stderr.
pub(crate) fn complain(text: &str) {
    // Nobody is left to tell that stderr is gone.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}
