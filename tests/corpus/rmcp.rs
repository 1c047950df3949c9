//! The same answers, read by rmcp's own types. Members that these drop are lost to a server or
//! client on rmcp.

use crate::{
    case::{Case, Expected, RpcInput},
    stack,
};
use mcp_resilience::{call::ToolResult, failure::RpcError};
use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, ServerResult},
};
use serde_json::{Value, json};

pub(crate) async fn result(case: &Case, result: &Value) -> Vec<Result<(), String>> {
    let expected = case.by_rmcp.as_ref().unwrap_or(&case.expect);
    match serde_json::from_value(result.clone()) {
        Ok(ServerResult::CallToolResult(result)) => {
            let again = serde_json::to_value(&result).unwrap();
            let lost: Vec<_> = ["content", "structuredContent", "_meta", "resultType"]
                .into_iter()
                .filter(|key| case_has(case, key) && again.get(*key).is_none())
                .collect();
            if !lost.is_empty() {
                return vec![Err(format!("rmcp lost {lost:?}"))];
            }
            stack::check::<CallToolResult>(case, expected, move || Ok(result.clone())).await
        }
        Ok(ServerResult::InputRequiredResult(result)) => {
            vec![interim(expected, &CallToolResponse::InputRequired(result))]
        }
        Ok(ServerResult::CreateTaskResult(result)) => {
            vec![interim(expected, &CallToolResponse::Task(result))]
        }
        // rmcp's client does not accept it as the answer of a call.
        Ok(_) if case.by_rmcp.is_some() => Vec::new(),
        other => vec![Err(format!("rmcp takes it for {other:?}"))],
    }
}

fn case_has(case: &Case, key: &str) -> bool {
    matches!(&case.input, crate::Input::Result(result) if result.get(key).is_some())
}

fn interim(expected: &Expected, response: &CallToolResponse) -> Result<(), String> {
    let is_right = matches!(expected, Expected::Interim { .. }) && response.is_interim();
    is_right
        .then_some(())
        .ok_or_else(|| format!("{response:?}"))
}

pub(crate) async fn error(case: &Case, error: &RpcInput) -> Vec<Result<(), String>> {
    let expected = case.by_rmcp.as_ref().unwrap_or(&case.expect);
    let error: ErrorData = serde_json::from_value(json!(error)).unwrap();
    let error = RpcError::new(error.code.0, error.message, error.data);
    stack::check::<CallToolResult>(case, expected, move || Err(error.clone().into())).await
}
