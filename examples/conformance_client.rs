//! A client that does what the client side of the official conformance suite asks for.
//!
//! ```text
//! conformance_client [--bare] URL
//! ```
//!
//! It connects, lists the tools, and calls each of them, or those that the suite names. `--bare` is rmcp's own
//! client without the crate. `tests/conformance/run` compares the two.

use mcp_resilience::{
    reconnect::ReconnectLayer,
    rmcp::client::{Client, Http},
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        CallToolRequestParams, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
        ProtocolVersion, Tool,
    },
    service::{ClientLifecycleMode, ClientServiceExt, RequestContext},
    transport::StreamableHttpClientTransport,
};
use serde_json::{Map, Value, json};
use std::{env, error::Error};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [url] => wrapped(url).await,
        ["--bare", url] => bare(url).await,
        _ => Err("usage: conformance_client [--bare] URL".into()),
    }
}

async fn wrapped(url: &str) -> Result<(), Box<dyn Error>> {
    let server = Http::new(url).handler(Accepts).lifecycle(lifecycle());
    let client = Client::builder(server)
        .reconnect(ReconnectLayer::new(()))
        .connect()
        .await?;
    let tools = client.list_tools().await?;
    for (tool, arguments) in calls(&tools) {
        // What the tool says does not matter: the suite reads what was sent.
        if let Err(failure) = client.call(tool, arguments).await {
            eprintln!("{failure}");
        }
    }
    client.close().await;
    Ok(())
}

async fn bare(url: &str) -> Result<(), Box<dyn Error>> {
    let transport = StreamableHttpClientTransport::from_uri(url);
    let mut client = Accepts.serve_with_lifecycle(transport, lifecycle()).await?;
    let tools = client.list_all_tools().await?;
    for (tool, arguments) in calls(&tools) {
        let mut call = CallToolRequestParams::new(tool);
        call.arguments = arguments.as_object().cloned();
        if let Err(error) = client.call_tool(call).await {
            eprintln!("{error}");
        }
    }
    client.close().await?;
    Ok(())
}

fn lifecycle() -> ClientLifecycleMode {
    let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
    if version == ProtocolVersion::V_2026_07_28.as_str() {
        ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        }
    } else {
        ClientLifecycleMode::Initialize
    }
}

/// The calls that the suite names, or one of each tool.
fn calls(tools: &[Tool]) -> Vec<(String, Value)> {
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    if let Some(named) = context["toolCalls"].as_array() {
        let named = named.iter();
        let named = named.filter_map(|call| Some((call["name"].as_str()?, &call["arguments"])));
        return named
            .map(|(tool, arguments)| (tool.to_owned(), arguments.clone()))
            .collect();
    }
    let each = tools.iter();
    each.map(|tool| (tool.name.to_string(), arguments(&tool.input_schema)))
        .collect()
}

/// A value for each property of a schema.
fn arguments(schema: &Map<String, Value>) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let values = properties.into_iter().flatten().map(|(name, schema)| {
        let value = match schema["type"].as_str() {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("text"),
        };
        (name.clone(), value)
    });
    Value::Object(values.collect())
}

/// Accepts what a server asks for, with the defaults of its form.
#[derive(Clone)]
struct Accepts;

impl ClientHandler for Accepts {
    fn get_info(&self) -> ClientConfig {
        let info = json!({
            "protocolVersion": ProtocolVersion::LATEST_WITH_INITIALIZE,
            "capabilities": {"elicitation": {"form": {}}},
            "clientInfo": {"name": "conformance", "version": env!("CARGO_PKG_VERSION")},
        });
        serde_json::from_value(info).unwrap_or_default()
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let form = json!(params);
        let properties = form["requestedSchema"]["properties"].as_object();
        let defaults = properties
            .into_iter()
            .flatten()
            .filter_map(|(name, schema)| {
                let default = schema.get("default")?;
                Some((name.clone(), default.clone()))
            });
        let content = Value::Object(defaults.collect());
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }
}
