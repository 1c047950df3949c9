//! tower-mcp, for the suite of all adapters.

use crate::{
    adapters::{Adapter, Answer, Tool},
    support::Raw,
};
use mcp_resilience::{ResilienceLayer, failure::RpcError, tower_mcp::ResilientLayer};
use serde_json::{Value, json};
use tower_mcp::{
    CallToolResult, Error, JsonRpcError, McpRouter, StdioTransport, ToolBuilder, extract::RawArgs,
    protocol::TaskSupportMode,
};

pub(crate) struct Sdk;

impl Adapter for Sdk {
    type Error = Error;
    type Server = (McpRouter, ResilientLayer);

    fn rpc_error(error: RpcError) -> Error {
        Error::JsonRpc(JsonRpcError {
            code: error.code,
            message: error.message,
            data: error.data,
        })
    }

    fn server(tool: Tool<Error>, preset: &ResilienceLayer) -> Self::Server {
        let mut listed = ToolBuilder::new(tool.name);
        if tool.is_read_only {
            listed = listed.read_only();
        }
        if tool.is_destructive {
            listed = listed.destructive();
        }
        if let Some(schema) = tool.output_schema {
            listed = listed.output_schema(schema);
        }
        let run = tool.run;
        let listed = listed.extractor_handler((), move |_: RawArgs| {
            let running = run();
            async move {
                Ok(match running.await? {
                    Answer::Text(text) => CallToolResult::text(text),
                    Answer::Flagged(text) => CallToolResult::error(text),
                })
            }
        });
        let router = McpRouter::new().tool(listed.build());
        (router, ResilientLayer::with_preset(preset))
    }

    /// A tool that runs as a task.
    fn interim(name: &'static str, preset: &ResilienceLayer) -> (Self::Server, Value) {
        let tool = ToolBuilder::new(name)
            .read_only()
            .task_support(TaskSupportMode::Optional)
            .extractor_handler((), async |_: RawArgs| Ok(CallToolResult::error("too late")))
            .build();
        let router = McpRouter::new().tool(tool);
        let params = json!({"name": name, "arguments": {}, "task": {}});
        ((router, ResilientLayer::with_preset(preset)), params)
    }

    fn open((router, layer): &Self::Server) -> Raw {
        let (near, far) = tokio::io::duplex(1 << 16);
        let mut transport = StdioTransport::new(router.clone()).layer(layer.clone());
        tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            transport.run_with_streams(reader, writer).await
        });
        Raw::over(near)
    }
}
