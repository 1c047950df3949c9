//! Limits follow the progress that a server reports.
#![allow(
    clippy::float_cmp,
    clippy::format_collect,
    clippy::similar_names,
    reason = "progress is compared as it was sent"
)]

use crate::support::{MS, SECOND, Scripted, Traced, scripted::events, within};
use axum::body::{Body, Bytes};
use mcp_resilience::{
    ResilienceLayer,
    call::Hints,
    policy::{Policies, Policy},
    retry::RetryLayer,
    rmcp::{
        Resilient,
        client::{Client, Http},
    },
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, NumberOrString,
        ProgressNotificationParam, ProgressToken, ProtocolVersion, RequestParamsMeta,
        ServerCapabilities, ServerConfig,
    },
    service::{ClientLifecycleMode, NotificationContext, RequestContext},
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    sync::{
        Mutex,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
    task::JoinHandle,
    time::sleep,
};

/// A handler that records progress.
#[derive(Clone)]
struct Hears(UnboundedSender<ProgressNotificationParam>);

impl ClientHandler for Hears {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.0.send(params);
    }
}

/// A server with one call, which a test controls.
struct Told {
    server: Scripted,
    says: UnboundedSender<Value>,
    client: Client,
    hears: UnboundedReceiver<ProgressNotificationParam>,
}

impl Told {
    async fn start() -> Self {
        Self::start_with(ResilienceLayer::new()).await
    }

    async fn start_with(resilience: ResilienceLayer) -> Self {
        let (says, said) = unbounded_channel::<Value>();
        let said = Arc::new(Mutex::new(said));
        let server = Scripted::start(move |seen, _| {
            let said = Arc::clone(&said);
            let messages = futures_util::stream::unfold(said, async |said| {
                let message = said.lock().await.recv().await?;
                Some((
                    Ok::<_, Infallible>(Bytes::from(format!("data: {message}\n\n"))),
                    said,
                ))
            });
            (seen.method() == "tools/call").then(|| events(Body::from_stream(messages)))
        })
        .await;
        let (heard, hears) = unbounded_channel();
        let connector = Http::new(&*server.url).handler(Hears(heard));
        let client = Client::builder(connector).resilience(resilience);
        let client = client.connect().await.unwrap();
        Self {
            server,
            says,
            client,
            hears,
        }
    }

    /// Begins a call with a token of the caller's, and waits until the server has it.
    async fn begin(&self) -> JoinHandle<CallToolResult> {
        let client = self.client.clone();
        let call = tokio::spawn(async move {
            match client.call_tool(call("book")).await.unwrap() {
                CallToolResponse::Complete(result) => result,
                other => panic!("{other:?}"),
            }
        });
        within("the call at the server", async {
            while self.server.count("tools/call") == 0 {
                sleep(5 * MS).await;
            }
        })
        .await;
        call
    }

    fn call_seen(&self) -> Value {
        let seen = self.server.seen();
        let call = seen.iter().find(|seen| seen.method() == "tools/call");
        call.unwrap().message.clone()
    }

    /// Reports progress, and waits until it was heard.
    async fn report(&mut self, progress: f64) -> ProgressNotificationParam {
        let token = &self.call_seen()["params"]["_meta"]["progressToken"];
        let report = json!({
            "jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": token, "progress": progress},
        });
        self.says.send(report).unwrap();
        let heard = within("the report", self.hears.recv()).await;
        heard.unwrap()
    }

    fn answer(&self) {
        let result = json!({"content": [{"type": "text", "text": "done"}]});
        let id = &self.call_seen()["id"];
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        self.says.send(answer).unwrap();
    }
}

fn mine() -> ProgressToken {
    ProgressToken(NumberOrString::String("mine".into()))
}

fn call(tool: &'static str) -> CallToolRequestParams {
    let mut call = CallToolRequestParams::new(tool);
    call.set_progress_token(mine());
    call
}

/// The clock jumps, and goes on as before: nothing waits for a socket in paused time.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
    // The limit counts even if a report arrives now.
    sleep(10 * MS).await;
}

/// With limits of minutes, so that no machine is too busy for them.
#[tokio::test]
async fn case_124_progress_keeps_a_call_alive_beyond_the_limit_of_its_attempt() {
    let retry = RetryLayer::builder().deadline(600 * SECOND);
    let resilience = ResilienceLayer::builder()
        .retry(retry.build().unwrap())
        .attempt_timeout(180 * SECOND);
    let mut told = Told::start_with(resilience.build().unwrap()).await;
    let call = told.begin().await;
    for progress in 1..=8 {
        pass(30 * SECOND).await;
        told.report(progress.into()).await;
    }
    assert!(!call.is_finished());
    told.answer();
    let result = within("the answer", call).await.unwrap();
    assert_ne!(result.is_error, Some(true), "{result:?}");
    assert_eq!(told.server.count("tools/call"), 1);
}

#[tokio::test]
async fn a_call_of_fifty_minutes_whose_server_reports_progress_succeeds() {
    let mut told = Told::start().await;
    let call = told.begin().await;
    for minute in 0..60_u32 {
        let heard = told.report(minute.into()).await;
        assert_eq!(heard.progress_token, mine());
        assert_eq!(heard.progress, f64::from(minute));
        pass(50 * SECOND).await;
    }
    assert!(!call.is_finished());
    told.answer();
    let result = within("the answer", call).await.unwrap();
    assert_ne!(result.is_error, Some(true), "{result:?}");
}

#[tokio::test]
async fn a_call_whose_server_stops_reporting_ends_after_the_limit() {
    let mut told = Told::start().await;
    let call = told.begin().await;
    for progress in [1.0, 2.0] {
        told.report(progress).await;
        pass(50 * SECOND).await;
        assert!(!call.is_finished());
    }
    pass(11 * SECOND).await;
    let result = within("the end", call).await.unwrap();
    assert_eq!(result.is_error, Some(true));
}

#[tokio::test]
async fn a_call_whose_server_reports_for_ever_ends_at_the_ceiling() {
    let mut told = Told::start().await;
    let call = told.begin().await;
    let mut reports = 0_u32;
    while !call.is_finished() {
        assert!(reports <= 72, "an hour and more");
        told.report(reports.into()).await;
        reports += 1;
        pass(50 * SECOND).await;
    }
    let result = within("the end", call).await.unwrap();
    assert_eq!(result.is_error, Some(true));
}

#[tokio::test]
async fn progress_of_all_attempts_comes_under_the_callers_token_and_never_decreases() {
    let server = Scripted::start(|seen, before| {
        if seen.method() != "tools/call" {
            return None;
        }
        let token = seen.message["params"]["_meta"]["progressToken"].clone();
        assert_ne!(token, json!("mine"), "each attempt has a token of its own");
        let values = if before == 0 { [1.0, 3.0] } else { [0.0, 4.0] };
        let reports = values.map(|progress| {
            json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": progress},
            })
        });
        let answer = if before == 0 {
            json!({
                "isError": true, "content": [],
                "structuredContent": {
                    "service": "shop", "code": "rate_limited", "error": "later",
                    "status": 429, "retryAfter": 0.01,
                },
            })
        } else {
            json!({"content": [{"type": "text", "text": "done"}]})
        };
        let answer = json!({"jsonrpc": "2.0", "id": seen.message["id"], "result": answer});
        let messages = reports.into_iter().chain([answer]);
        let body: String = messages
            .map(|message| format!("data: {message}\n\n"))
            .collect();
        Some(events(Body::from(body)))
    })
    .await;
    let (heard, mut hears) = unbounded_channel();
    let connector = Http::new(&*server.url).handler(Hears(heard));
    let builder = Client::builder(connector).hints("book", Hints::new().read_only(true));
    let client = within("a connection", builder.connect()).await.unwrap();
    let answer = within("an answer", client.call_tool(call("book"))).await;
    assert!(matches!(answer.unwrap(), CallToolResponse::Complete(_)));
    assert_eq!(server.count("tools/call"), 2);
    let mut values = Vec::new();
    while values.len() < 4 {
        let heard = within("a report", hears.recv()).await.unwrap();
        assert_eq!(heard.progress_token, mine());
        values.push(heard.progress);
    }
    // rmcp runs the handler in a task for each.
    values.sort_by(f64::total_cmp);
    assert_eq!(values, [1.0, 3.0, 3.0, 4.0]);
    let tokens = server.seen();
    let tokens = tokens.iter().filter(|seen| seen.method() == "tools/call");
    let tokens: Vec<_> = tokens
        .map(|seen| &seen.message["params"]["_meta"]["progressToken"])
        .collect();
    assert_ne!(tokens[0], tokens[1]);
}

/// A tool that reports every 200 ms for longer than its limit.
#[derive(Clone)]
struct Slow;

const IDLE: Duration = Duration::from_secs(6);

impl ServerHandler for Slow {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let token = context.meta.get_progress_token().unwrap();
        for done in 0..40_u32 {
            sleep(200 * MS).await;
            let report = ProgressNotificationParam::new(token.clone(), done.into());
            let _ = context.peer.notify_progress(report).await;
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("done")]).into())
    }
}

/// Both sides count from the last report.
async fn over_http(lifecycle: ClientLifecycleMode) {
    let layer = || {
        let builder = ResilienceLayer::builder().attempt_timeout(IDLE);
        builder.build().unwrap()
    };
    let server = Resilient::with_preset(Slow, &layer());
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().nest_service("/mcp", service);
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let (heard, mut hears) = unbounded_channel();
    let connector = Http::new(url).lifecycle(lifecycle).handler(Hears(heard));
    let client = Client::builder(connector).resilience(layer());
    let client = within("a connection", client.connect()).await.unwrap();
    let answer = within("an answer", client.call_tool(call("print"))).await;
    let CallToolResponse::Complete(result) = answer.unwrap() else {
        panic!("complete");
    };
    assert_ne!(result.is_error, Some(true), "{result:?}");
    let heard = within("a report", hears.recv()).await.unwrap();
    assert_eq!(heard.progress_token, mine());
    client.close().await;
    serving.abort();
}

#[tokio::test]
async fn a_tool_that_reports_over_http_goes_on_beyond_its_limit_in_a_session() {
    over_http(ClientLifecycleMode::Initialize).await;
}

#[tokio::test]
async fn a_tool_that_reports_over_http_goes_on_beyond_its_limit_without_a_session() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    over_http(ClientLifecycleMode::Discover { preferred_versions }).await;
}

#[tokio::test]
async fn a_flood_of_progress_ends_with_its_answer() {
    let server = Scripted::start(|seen, _| {
        let token = &seen.message["params"]["_meta"]["progressToken"];
        let report = json!({
            "jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1},
        });
        let answer = json!({"jsonrpc": "2.0", "id": seen.message["id"], "result": {"content": []}});
        let flood = format!("data: {report}\n\n").repeat(2_000);
        (seen.method() == "tools/call")
            .then(|| events(Body::from(format!("{flood}data: {answer}\n\n"))))
    })
    .await;
    let client = Client::connect(Http::new(&*server.url)).await.unwrap();
    let answer = within("an answer", client.call_tool(call("book"))).await;
    assert!(answer.is_ok());
}

#[tokio::test]
async fn a_policy_for_a_tool_that_the_server_does_not_list_is_warned_of_at_the_dial() {
    let server = Scripted::start(|_, _| None).await;
    let policy = || Policy::new().attempt_timeout(SECOND);
    let policies = Policies::new().tool("book", policy()).tool("bok", policy());
    let layer = ResilienceLayer::builder().policies(policies);
    let traced = Traced::begin();
    let client = Client::builder(Http::new(&*server.url)).resilience(layer.build().unwrap());
    within("a connection", client.connect()).await.unwrap();
    let warnings = traced.end();
    let named = |tool: &str| {
        let of = |event: &&Value| event["level"] == "WARN" && event["fields"]["tool"] == tool;
        warnings.iter().filter(of).count()
    };
    assert_eq!((named("bok"), named("book")), (1, 0), "{warnings:#?}");
}
