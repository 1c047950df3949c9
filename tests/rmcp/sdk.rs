//! rmcp, for the suite of all adapters.

use crate::{
    adapters::{Adapter, Answer, Tool},
    support::{Desk, Raw, ok},
};
use mcp_resilience::{ResilienceLayer, failure::RpcError, rmcp::Resilient};
use rmcp::{
    ErrorData,
    model::{
        self, CallToolResult, ContentBlock, ErrorCode, InputRequiredResult, JsonObject,
        ToolAnnotations,
    },
};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) struct Sdk;

impl Adapter for Sdk {
    type Error = ErrorData;
    type Server = Resilient<Desk>;

    fn rpc_error(error: RpcError) -> ErrorData {
        ErrorData::new(ErrorCode(error.code), error.message, error.data)
    }

    fn server(tool: Tool<ErrorData>, preset: &ResilienceLayer) -> Resilient<Desk> {
        let mut listed = model::Tool::new(tool.name, "", JsonObject::default());
        if tool.is_read_only {
            listed = listed.with_annotations(ToolAnnotations::new().read_only(true));
        }
        if tool.is_destructive {
            listed = listed.with_annotations(ToolAnnotations::new().destructive(true));
        }
        if let Some(Value::Object(schema)) = tool.output_schema {
            listed = listed.with_raw_output_schema(Arc::new(schema));
        }
        let run = tool.run;
        let desk = Desk::new(move |_| {
            let running = run();
            async move {
                match running.await? {
                    Answer::Text(text) => ok(text),
                    Answer::Flagged(text) => {
                        Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into())
                    }
                }
            }
        });
        Resilient::with_preset(desk.tool(listed), preset)
    }

    /// A tool that asks for input.
    fn interim(name: &'static str, preset: &ResilienceLayer) -> (Resilient<Desk>, Value) {
        let desk =
            Desk::new(|_| async { Ok(InputRequiredResult::from_request_state("round 2").into()) });
        let desk = desk.annotated(name, ToolAnnotations::new().read_only(true));
        let server = Resilient::with_preset(desk, preset);
        (server, crate::support::modern(json!({"name": name})))
    }

    fn open(server: &Resilient<Desk>) -> Raw {
        Raw::open(server.clone())
    }
}
