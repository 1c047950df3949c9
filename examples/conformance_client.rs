//! A client for the client scenarios of the official conformance suite.
//!
//! ```text
//! conformance_client [--bare] URL
//! ```
//!
//! It connects, lists the tools, and calls each of them, or those that the suite names. If the server
//! wants a token, rmcp's OAuth client gets one, as the source of `Http::credentials`. `--bare` uses rmcp's
//! own client without this crate. `tests/conformance/run` compares the two.

#[path = "conformance_client/login.rs"]
mod login;

use login::{Login, Wanted};
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
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RequestContext, ServiceError,
    },
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Map, Value, json};
use std::{env, error::Error, sync::Arc};
use tokio::sync::Mutex;

type BoxError = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [url] => wrapped(url).await,
        ["--bare", url] => bare(url).await,
        _ => Err("usage: conformance_client [--bare] URL".into()),
    }
}

async fn wrapped(url: &str) -> Result<(), BoxError> {
    let login = Arc::new(Mutex::new(Login::new(url, context())));
    let server = Http::new(url)
        .handler(Accepts)
        .lifecycle(lifecycle())
        .credentials(move |challenge| {
            let login = Arc::clone(&login);
            async move {
                let Some(challenge) = challenge else {
                    return Ok(None);
                };
                login.lock().await.answer(&challenge.into()).await.map(Some)
            }
        });
    let client = Client::builder(server)
        .reconnect(ReconnectLayer::new(()))
        .connect()
        .await?;
    let tools = client.list_tools().await?;
    for (tool, arguments) in calls(&tools) {
        // The answer does not matter, because the suite reads the requests.
        if let Err(failure) = client.call(tool, arguments).await {
            eprintln!("{failure}");
        }
    }
    client.close().await;
    Ok(())
}

/// Begins again with another token as long as the server wants one.
async fn bare(url: &str) -> Result<(), BoxError> {
    let mut login = Login::new(url, context());
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    while let Some(wanted) = bare_with(config.clone()).await? {
        config = config.auth_header(login.answer(&wanted).await?);
    }
    Ok(())
}

async fn bare_with(
    config: StreamableHttpClientTransportConfig,
) -> Result<Option<Wanted>, BoxError> {
    let transport = StreamableHttpClientTransport::from_config(config);
    let client = Accepts.serve_with_lifecycle(transport, lifecycle()).await;
    let mut client = match client {
        Ok(client) => client,
        Err(ClientInitializeError::TransportError { error, context }) => {
            return Wanted::in_error(&error)
                .map(Some)
                .ok_or_else(|| ClientInitializeError::TransportError { error, context }.into());
        }
        Err(error) => return Err(error.into()),
    };
    let tools = match client.list_all_tools().await {
        Ok(tools) => tools,
        Err(ServiceError::TransportSend(error)) => {
            return Ok(Some(Wanted::in_error(&error).ok_or(error)?));
        }
        Err(error) => return Err(error.into()),
    };
    for (tool, arguments) in calls(&tools) {
        let mut call = CallToolRequestParams::new(tool);
        call.arguments = arguments.as_object().cloned();
        let outcome = client.call_tool(call).await;
        if let Err(ServiceError::TransportSend(error)) = &outcome
            && let Some(wanted) = Wanted::in_error(error)
        {
            return Ok(Some(wanted));
        }
        if let Err(error) = outcome {
            eprintln!("{error}");
        }
    }
    client.close().await?;
    Ok(None)
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

/// What the suite says to its client.
fn context() -> Value {
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    serde_json::from_str(&context).unwrap_or_default()
}

/// The calls that the suite names, or one of each tool.
fn calls(tools: &[Tool]) -> Vec<(String, Value)> {
    if let Some(named) = context()["toolCalls"].as_array() {
        let named = named.iter();
        let named = named.filter_map(|call| Some((call["name"].as_str()?, &call["arguments"])));
        return named
            .map(|(tool, arguments)| (tool.to_owned(), arguments.clone()))
            .collect();
    }
    let each = tools.iter();
    each.map(|tool| {
        let arguments = match &*tool.name {
            // The suite reads in it what the client has read of the other tool.
            "json_schema_echo" => json!({"schema": tools[0].input_schema}),
            _ => arguments(&tool.input_schema),
        };
        (tool.name.to_string(), arguments)
    })
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
