//! The user's own handler of requests and notifications from a server.
#![expect(
    deprecated,
    reason = "MCP has deprecated sampling, roots and logging, and servers still use them"
)]

use crate::support::{Log, MS, reconnect, resilience, retry, within};
use axum::Router;
use mcp_resilience::{
    call::Hints,
    rmcp::client::{Client, Http},
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientConfig, ContentBlock,
        CreateMessageRequestParams, CreateMessageResult, CustomNotification, ElicitRequestParams,
        ElicitResult, ElicitationAction, ListRootsResult, ListToolsResult,
        LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
        ProtocolVersion, ResourceUpdatedNotificationParam, Root, SamplingMessage,
        ServerCapabilities, ServerConfig, ServerNotification, ServerRequest, Tool, ToolAnnotations,
    },
    service::{ClientLifecycleMode, NotificationContext, Peer, RequestContext},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use tokio::{net::TcpListener, time::sleep};

/// A server on rmcp that sends requests and notifications on demand.
#[derive(Clone, Default)]
struct Curious {
    has_changed: Arc<AtomicBool>,
}

impl Curious {
    async fn start(&self) -> Http {
        let server = self.clone();
        let service = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::new(LocalSessionManager::default()),
            StreamableHttpServerConfig::default(),
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = Router::new().nest_service("/mcp", service);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Http::new(url)
    }
}

impl ServerHandler for Curious {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let reads = !self.has_changed.load(Relaxed);
        let tool = |name: &'static str| {
            let annotations = ToolAnnotations::new().read_only(reads);
            Tool::new(name, "", serde_json::Map::new()).with_annotations(annotations)
        };
        let tools = vec![tool("ask"), tool("tell"), tool("change")];
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(call.arguments.unwrap_or_default());
        let said = match &*call.name {
            "ask" => ask(&context.peer, arguments).await,
            "tell" => {
                let mut message = arguments;
                if message["method"] == "notifications/progress" {
                    message["params"]["progressToken"] =
                        json!(context.meta.get_progress_token().unwrap());
                }
                let message: ServerNotification = serde_json::from_value(message).unwrap();
                context.peer.send_notification(message).await.unwrap();
                String::new()
            }
            _ => {
                self.has_changed.store(true, Relaxed);
                context.peer.notify_tool_list_changed().await.unwrap();
                String::new()
            }
        };
        let result = CallToolResult::success(vec![ContentBlock::text(said)]);
        Ok(CallToolResponse::Complete(result))
    }
}

async fn ask(peer: &Peer<RoleServer>, question: Value) -> String {
    let question: ServerRequest = serde_json::from_value(question).unwrap();
    match peer.send_request(question).await {
        Ok(answer) => serde_json::to_string(&answer).unwrap(),
        Err(error) => error.to_string(),
    }
}

/// A handler that notes what reaches it.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    async fn wait_for(&self, what: &str) {
        within(what, async {
            while !self.0.lock().unwrap().iter().any(|seen| seen == what) {
                sleep(5 * MS).await;
            }
        })
        .await;
    }
}

impl ClientHandler for Seen {
    fn get_info(&self) -> ClientConfig {
        serde_json::from_value(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"sampling": {}, "elicitation": {"form": {}}, "roots": {}},
            "clientInfo": {"name": "seen", "version": "1"},
        }))
        .unwrap()
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.note(format!("sampling {}", params.max_tokens));
        let message = SamplingMessage::assistant_text("a model's words");
        Ok(CreateMessageResult::new(message, "model".to_owned()))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        self.note("roots");
        Ok(ListRootsResult::new(vec![Root::new("file:///books")]))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.note("elicitation");
        let answer = ElicitResult::new(ElicitationAction::Accept);
        Ok(answer.with_content(json!({"name": "a person's word"})))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.note(format!("progress {}", params.progress));
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.note(format!("log {}", params.data));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.note(format!("updated {}", params.uri));
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note("resources changed");
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note("prompts changed");
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note("tools changed");
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        _: NotificationContext<RoleClient>,
    ) {
        self.note(format!("custom {}", notification.method));
    }
}

async fn connect(connector: Http<Seen>) -> Client {
    let client = Client::builder(connector)
        .resilience(resilience(&Log::default(), retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    within("a connection", client.connect()).await.unwrap()
}

async fn make(client: &Client, tool: &'static str, arguments: Value) -> String {
    let call = CallToolRequestParams::new(tool);
    let call = call.with_arguments(arguments.as_object().unwrap().clone());
    match within("an answer", client.call_tool(call)).await.unwrap() {
        CallToolResponse::Complete(result) => {
            assert_ne!(result.is_error, Some(true), "{result:?}");
            result.content[0].as_text().unwrap().text.clone()
        }
        answer => panic!("{answer:?}"),
    }
}

#[tokio::test]
async fn requests_of_the_server_reach_the_users_handler() {
    let seen = Seen::default();
    let http = Curious::default().start().await;
    let client = connect(http.handler(seen.clone())).await;
    let questions = [
        (
            json!({"method": "sampling/createMessage", "params": {
                "messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}],
                "maxTokens": 7,
            }}),
            "a model's words",
            "sampling 7",
        ),
        (
            json!({"method": "elicitation/create", "params": {
                "mode": "form", "message": "who?",
                "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
            }}),
            "a person's word",
            "elicitation",
        ),
        (json!({"method": "roots/list"}), "file:///books", "roots"),
    ];
    for (question, answer, note) in questions {
        let said = make(&client, "ask", question).await;
        assert!(said.contains(answer), "{said}");
        seen.wait_for(note).await;
    }
    client.close().await;
}

#[tokio::test]
async fn notifications_of_the_server_reach_the_users_handler() {
    let seen = Seen::default();
    let http = Curious::default().start().await;
    let client = connect(http.handler(seen.clone())).await;
    let news = [
        (
            json!({"method": "notifications/progress", "params": {"progress": 3.0}}),
            "progress 3",
        ),
        (
            json!({"method": "notifications/message", "params": {"level": "info", "data": "hello"}}),
            "log \"hello\"",
        ),
        (
            json!({"method": "notifications/resources/updated", "params": {"uri": "file:///a"}}),
            "updated file:///a",
        ),
        (
            json!({"method": "notifications/resources/list_changed"}),
            "resources changed",
        ),
        (
            json!({"method": "notifications/prompts/list_changed"}),
            "prompts changed",
        ),
        (
            json!({"method": "notifications/tools/list_changed"}),
            "tools changed",
        ),
        (
            json!({"method": "notifications/of_our_own", "params": {}}),
            "custom notifications/of_our_own",
        ),
    ];
    for (message, note) in news {
        make(&client, "tell", message).await;
        seen.wait_for(note).await;
    }
    client.close().await;
}

/// When a handler gets the notification, the catalog is already up to date.
#[derive(Clone)]
struct Looks {
    client: Arc<Mutex<Option<Client>>>,
    hints: Arc<Mutex<Option<Hints>>>,
}

impl ClientHandler for Looks {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let client = self.client.lock().unwrap().clone().unwrap();
        let listed = client.list_tools().await;
        assert!(listed.is_ok());
        *self.hints.lock().unwrap() = client.catalog().hints("ask");
    }
}

#[tokio::test]
async fn a_handler_that_is_told_of_a_change_can_list_the_tools() {
    let looks = Looks {
        client: Arc::default(),
        hints: Arc::default(),
    };
    let http = Curious::default().start().await;
    let client = Client::connect(http.handler(looks.clone())).await.unwrap();
    *looks.client.lock().unwrap() = Some(client.clone());
    make(&client, "change", json!({})).await;
    within("the handler", async {
        while looks.hints.lock().unwrap().is_none() {
            sleep(5 * MS).await;
        }
    })
    .await;
    // The hints of the tool are unknown now. That it declares no schema is still known.
    let stale = Hints::new().output_schema(false);
    assert_eq!(*looks.hints.lock().unwrap(), Some(stale));
    *looks.client.lock().unwrap() = None;
    client.close().await;
}

async fn sees_the_change(lifecycle: ClientLifecycleMode) {
    let http = Curious::default().start().await;
    let client = connect(http.handler(Seen::default()).lifecycle(lifecycle)).await;
    let may_repeat = || client.catalog().hints("ask").is_some_and(Hints::may_repeat);
    assert!(may_repeat());
    make(&client, "change", json!({})).await;
    within("the new list", async {
        while may_repeat()
            || client.tools().unwrap()[0]
                .annotations
                .as_ref()
                .unwrap()
                .read_only_hint
                != Some(false)
        {
            sleep(5 * MS).await;
        }
    })
    .await;
    client.close().await;
}

#[tokio::test]
async fn an_announced_change_is_read_from_a_server_on_rmcp() {
    sees_the_change(ClientLifecycleMode::Initialize).await;
}

#[tokio::test]
async fn an_announced_change_is_read_from_a_server_that_announces_to_subscribers_alone() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    sees_the_change(ClientLifecycleMode::Discover { preferred_versions }).await;
}
