//! The smallest server: a handler without macros, and a `main` that returns what `run` returns.
//!
//! It ends with exit code 0 when its client leaves or a signal comes, and with exit code 1 after a
//! fatal failure, even if stdin is open or stdout has no reader.

use mcp_resilience::{Failure, fatal::Fatal, rmcp::Resilient};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
    transport::stdio,
};
use serde_json::Map;
use std::{future::pending, time::Duration};

struct Clock;

#[tokio::main]
async fn main() -> Result<(), Fatal> {
    let grace = Duration::from_millis(500);
    Resilient::new(Clock).grace(grace).run(stdio()).await
}

impl ServerHandler for Clock {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    /// There is no `get_tool`: annotations are learned from this list.
    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let reads = ToolAnnotations::default().read_only(true);
        let tools = [
            ("echo", "Answers with its own name, many times."),
            ("wait", "Never answers."),
            ("break", "Breaks the clock for good."),
        ];
        let tools = tools.map(|(name, description)| {
            Tool::new(name, description, Map::new()).with_annotations(reads.clone())
        });
        Ok(ListToolsResult::with_all_items(tools.into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match &*request.name {
            "echo" => {
                let text = ContentBlock::text("echo ".repeat(2000));
                Ok(CallToolResult::success(vec![text]).into())
            }
            "wait" => pending().await,
            "break" => Err(Failure::fatal("the clock is broken").into()),
            other => Err(Failure::not_found(format!("There is no tool {other}.")).into()),
        }
    }
}
