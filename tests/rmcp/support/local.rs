use mcp_resilience::{
    ResilienceLayer,
    backoff::{Backoff, Jitter},
    call_log::{CallLogLayer, Record, Sink},
    preset::ResilienceBuilder,
    retry::{RetryBuilder, RetryLayer},
    rmcp::Attempt,
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
        ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
        Tool, ToolAnnotations,
    },
    service::{ClientLifecycleMode, ClientServiceExt, RequestContext, RunningService},
};
use serde_json::Value;
use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

/// A sink that keeps the lines, for a server in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn all(&self) -> Vec<Value> {
        let lines = self.0.lock().unwrap();
        lines.iter().map(|line| super::log_line(line)).collect()
    }

    /// The line, if there is exactly one.
    #[track_caller]
    pub(crate) fn only(&self) -> Value {
        let all = self.all();
        assert_eq!(all.len(), 1, "exactly one line: {all:#?}");
        all.into_iter().next().unwrap()
    }
}

impl Sink for Log {
    fn write(&self, record: &Record<'_>) {
        self.0.lock().unwrap().push(record.to_json());
    }
}

/// The first wait before a repeat in these tests; the second is twice as long.
pub(crate) const WAIT: Duration = Duration::from_millis(100);

/// Waits of known length.
pub(crate) fn retry() -> RetryBuilder {
    let backoff = Backoff::new(WAIT, Duration::from_secs(1)).unwrap();
    RetryLayer::builder()
        .backoff(backoff)
        .jitter(Jitter::none())
}

/// The preset with that retry, attempts of at most 5 s, and its log in `log`.
pub(crate) fn settings(log: &Log) -> ResilienceBuilder {
    ResilienceLayer::builder()
        .log(CallLogLayer::new(log.clone()))
        .retry(retry().build().unwrap())
        .attempt_timeout(Duration::from_secs(5))
}

pub(crate) fn preset(log: &Log) -> ResilienceLayer {
    settings(log).build().unwrap()
}

/// Later than anything that these tests wait for.
const VERY_LATE: Duration = Duration::from_secs(24 * 3600);

/// Serves a client in this process, with the handshake of `initialize`.
pub(crate) async fn connect<H: ServerHandler, C: ClientHandler>(
    server: H,
    client: C,
) -> RunningService<RoleClient, C> {
    connect_as(server, client, ClientLifecycleMode::Initialize).await
}

/// The same, in the revision of MCP that knows no sessions.
pub(crate) async fn connect_modern<H: ServerHandler, C: ClientHandler>(
    server: H,
    client: C,
) -> RunningService<RoleClient, C> {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions };
    connect_as(server, client, lifecycle).await
}

async fn connect_as<H: ServerHandler, C: ClientHandler>(
    server: H,
    client: C,
    lifecycle: ClientLifecycleMode,
) -> RunningService<RoleClient, C> {
    let (near, far) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let running = server.serve(far).await.unwrap();
        // A call that is never answered ends with its server, and fails its test: in paused time
        // that is as soon as nothing else happens.
        let _ = tokio::time::timeout(VERY_LATE, running.waiting()).await;
    });
    client.serve_with_lifecycle(near, lifecycle).await.unwrap()
}

/// A call without arguments.
pub(crate) fn call(tool: &'static str) -> CallToolRequestParams {
    CallToolRequestParams::new(tool)
}

/// The only block of a result, which is a text.
#[track_caller]
pub(crate) fn text(result: &CallToolResult) -> &str {
    assert_eq!(result.content.len(), 1, "one block: {result:#?}");
    &result.content[0].as_text().expect("a text").text
}

/// A success, as a handler returns it.
#[expect(clippy::unnecessary_wraps, reason = "it stands where others fail")]
pub(crate) fn ok(text: &str) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

/// A handler of tools that all do the same, and that remembers its attempts.
pub(crate) struct Desk {
    tools: Vec<Tool>,
    answer: Box<Answer>,
    attempts: Attempts,
}

type Answer = dyn Fn(Run) -> Answering + Send + Sync;
type Answering = Pin<Box<dyn Future<Output = Result<CallToolResponse, ErrorData>> + Send>>;

/// One run of a tool.
pub(crate) struct Run {
    /// Counted over all calls, from 1.
    pub(crate) number: usize,
    pub(crate) params: CallToolRequestParams,
    pub(crate) context: RequestContext<RoleServer>,
}

/// The number that each run was told to be, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attempts(Arc<Mutex<Vec<u32>>>);

impl Attempts {
    pub(crate) fn so_far(&self) -> Vec<u32> {
        self.0.lock().unwrap().clone()
    }
}

impl Desk {
    pub(crate) fn new<F, A>(answer: F) -> Self
    where
        F: Fn(Run) -> A + Send + Sync + 'static,
        A: Future<Output = Result<CallToolResponse, ErrorData>> + Send + 'static,
    {
        Self {
            tools: Vec::new(),
            answer: Box::new(move |run| Box::pin(answer(run))),
            attempts: Attempts::default(),
        }
    }

    /// A tool that is listed, with annotations.
    pub(crate) fn annotated(self, name: &'static str, annotations: ToolAnnotations) -> Self {
        let tool = Tool::new(name, "", JsonObject::default()).with_annotations(annotations);
        self.tool(tool)
    }

    pub(crate) fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    pub(crate) fn attempts(&self) -> Attempts {
        self.attempts.clone()
    }
}

impl ServerHandler for Desk {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // 0 if attempts are not counted.
        let attempt = context.extensions.get::<Attempt>();
        let attempt = attempt.map_or(0, |attempt| attempt.number());
        let number = {
            let mut attempts = self.attempts.0.lock().unwrap();
            attempts.push(attempt);
            attempts.len()
        };
        let run = Run {
            number,
            params,
            context,
        };
        (self.answer)(run).await
    }
}
