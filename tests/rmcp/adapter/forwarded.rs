//! A panic of a handler outside of a call is answered too.

use crate::support::{Log, connect, modern, ok, preset, within};
use mcp_resilience::rmcp::Resilient;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::{RequestContext, ServiceError},
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use serde_json::json;

#[derive(Clone)]
struct Shaky;

impl ServerHandler for Shaky {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn get_tool(&self, _: &str) -> Option<Tool> {
        panic!("the table has fallen over")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        panic!("the list has fallen over")
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        ok("fine")
    }
}

#[tokio::test]
async fn a_method_that_only_passes_is_answered_with_an_id_and_nothing_else() {
    let client = connect(Resilient::with_preset(Shaky, &preset(&Log::default())), ()).await;
    let listed = within("the list", client.list_tools(None)).await;
    let Err(ServiceError::McpError(error)) = listed else {
        panic!("no JSON-RPC error: {listed:?}");
    };
    assert_eq!(error.code.0, -32603);
    assert!(
        error.message.starts_with("internal error (call "),
        "{error:?}"
    );
}

/// Over HTTP rmcp looks at the tool before the call begins, for its headers.
#[tokio::test]
async fn a_tool_that_cannot_be_looked_up_is_still_called_over_http() {
    let server = Resilient::with_preset(Shaky, &preset(&Log::default()));
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().nest_service("/mcp", service);
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });

    let params = modern(json!({"name": "fine", "arguments": {}}));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = reqwest::Client::new()
        .post(&url)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "fine")
        .json(&body);
    let response = within("an answer", request.send()).await.unwrap();
    assert!(response.status().is_success(), "{response:?}");
    let body = within("its body", response.text()).await.unwrap();
    assert!(body.contains(r#""text":"fine""#), "{body}");
    serving.abort();
}
