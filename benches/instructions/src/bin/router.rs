//! Calls through a router of tower-mcp. A program of its own: tower-mcp turns on features of other crates, which changes
//! what everything else costs.
//!
//! See [`measure`].

#[path = "../measure.rs"]
mod measure;
#[path = "../../../support/tower_retry.rs"]
mod tower_retry;

use mcp_resilience::{ResilienceLayer, call_log::CallLogLayer, tower_mcp::ResilientLayer};
use measure::{Run, run};
use serde_json::json;
use tower::{Layer, retry::RetryLayer as TowerRetryLayer};
use tower_mcp::{
    CallToolResult, McpRouter, RouterRequest, ToolBuilder,
    extract::RawArgs,
    protocol::{CallToolParams, McpRequest, RequestId},
    router::Extensions,
};
use tower_retry::Attempts;

const CASES: &[(&str, Run)] = &[
    ("router", |calls| run(router(), request, calls)),
    ("router, tower::retry", |calls| {
        let retry = TowerRetryLayer::new(Attempts::new());
        run(retry.layer(router()), request, calls);
    }),
    ("router, preset", |calls| {
        let preset = ResilienceLayer::builder().log(CallLogLayer::off()).build();
        let layer = ResilientLayer::with_preset(&preset.expect("valid settings"));
        run(layer.layer(router()), request, calls);
    }),
];

fn main() {
    measure::main(CASES);
}

/// A router whose tool answers at once.
fn router() -> McpRouter {
    let tool = ToolBuilder::new("search_catalog")
        .extractor_handler((), async |_: RawArgs| {
            Ok(CallToolResult::text("three books are in stock"))
        })
        .build();
    let router = McpRouter::new().tool(tool);
    router.session().mark_preinitialized();
    router
}

/// As `Call` of the other program.
fn request() -> RouterRequest {
    let arguments = json!({
        "query": "desert planets with giant worms",
        "limit": 20,
        "language": "en",
        "max_price": 12.5,
        "in_stock": true,
    });
    RouterRequest {
        id: RequestId::Number(1),
        inner: McpRequest::CallTool(CallToolParams {
            name: "search_catalog".to_owned(),
            arguments,
            input_responses: None,
            request_state: None,
            meta: None,
            task: None,
        }),
        extensions: Extensions::new(),
    }
}
