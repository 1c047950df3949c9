//! The wrapper forwards every method of a handler.
#![expect(deprecated, reason = "what MCP has deprecated is forwarded too")]

use crate::support::{Log, Raw, modern, preset};
use mcp_resilience::rmcp::Resilient;
use rmcp::{
    ErrorData, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
        CompleteRequestParams, CompleteResult, CustomNotification, CustomRequest, CustomResult,
        DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
        GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult,
        InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
        PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
        ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, ReadResourceRequestParams,
        ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams,
        SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
        UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext},
};
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    fmt::Debug,
    sync::{Arc, Mutex},
};

type Context = RequestContext<RoleServer>;
type Notified = NotificationContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

/// Answers every request with an error that says which method was reached, and with what.
#[derive(Clone, Debug, Default)]
struct Telltale {
    notified: Arc<Mutex<Vec<String>>>,
}

fn told(method: &'static str, params: &impl Debug, context: &Context) -> ErrorData {
    let data = json!({
        "params": format!("{params:?}"), "id": context.id, "meta": context.meta,
    });
    ErrorData::new(ErrorCode(-31_000), method, Some(data))
}

impl Telltale {
    fn note(&self, method: &str, params: &impl Debug) {
        let note = format!("{method} {params:?}");
        self.notified.lock().unwrap().push(note);
    }
}

macro_rules! telltale {
    (
        requests { $($request:ident($($params:ident: $params_type:ty)?) -> $output:ty;)* }
        notifications { $($notification:ident($($note:ident: $note_type:ty)?);)* }
    ) => {
        // A method of a later rmcp that is not tried here would not be known to be forwarded.
        #[deny(clippy::missing_trait_methods)]
        impl ServerHandler for Telltale {
            $(async fn $request(
                &self,
                $($params: $params_type,)?
                context: Context,
            ) -> Result<$output, ErrorData> {
                Err(told(stringify!($request), &($(&$params,)?), &context))
            })*

            $(async fn $notification(&self, $($note: $note_type,)? _: Notified) {
                self.note(stringify!($notification), &($(&$note,)?));
            })*

            async fn initialize(
                &self,
                request: InitializeRequestParams,
                context: Context,
            ) -> Result<InitializeResult, ErrorData> {
                self.note("initialize", &request.client_info.name);
                context.peer.set_peer_info(request.clone());
                self.negotiate_initialize(&request)
            }

            fn negotiate_initialize(
                &self,
                request: &InitializeRequestParams,
            ) -> Result<InitializeResult, ErrorData> {
                let name = &request.client_info.name;
                let mut answer = self.get_info();
                answer.protocol_version = ProtocolVersion::V_2025_06_18;
                answer.instructions = Some(format!("negotiated with {name}"));
                Ok(answer)
            }

            async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
                let accepted = format!("{:?}", context.accepted());
                Err(ErrorData::new(ErrorCode(-31_000), "listen", Some(json!(accepted))))
            }

            fn get_info(&self) -> ServerConfig {
                let capabilities = ServerCapabilities::builder()
                    .enable_tools()
                    .enable_tool_list_changed()
                    .enable_resources()
                    .enable_prompts()
                    .enable_tasks()
                    .enable_skills_with_directory_read()
                    .build();
                ServerConfig::new(capabilities).with_instructions("tells tales")
            }

            fn get_tool(&self, name: &str) -> Option<Tool> {
                Some(Tool::new(name.to_owned(), "tells tales", JsonObject::default()))
            }

            fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
                vec![ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2026_07_28].into()
            }

            fn accepted_subscription_filter(
                &self,
                requested: &SubscriptionFilter,
            ) -> Option<SubscriptionFilter> {
                self.note("accepted_subscription_filter", requested);
                Some(SubscriptionFilter::builder().tools_list_changed().build())
            }
        }
    };
}

telltale! {
    requests {
        ping() -> ();
        discover() -> DiscoverResult;
        complete(params: CompleteRequestParams) -> CompleteResult;
        set_level(params: SetLevelRequestParams) -> ();
        get_prompt(params: GetPromptRequestParams) -> GetPromptResponse;
        list_prompts(params: Page) -> ListPromptsResult;
        list_resources(params: Page) -> ListResourcesResult;
        list_resource_templates(params: Page) -> ListResourceTemplatesResult;
        read_resource(params: ReadResourceRequestParams) -> ReadResourceResponse;
        subscribe(params: SubscribeRequestParams) -> ();
        unsubscribe(params: UnsubscribeRequestParams) -> ();
        call_tool(params: CallToolRequestParams) -> CallToolResponse;
        list_tools(params: Page) -> ListToolsResult;
        on_custom_request(params: CustomRequest) -> CustomResult;
        get_task(params: GetTaskParams) -> GetTaskResult;
        update_task(params: UpdateTaskParams) -> ();
        cancel_task(params: CancelTaskParams) -> ();
        list_skills(params: Page) -> ListSkillsResult;
        get_skill(params: GetSkillRequestParams) -> GetSkillResult;
        read_resource_directory(params: ReadResourceDirectoryRequestParams) -> ReadResourceDirectoryResult;
    }
    notifications {
        on_cancelled(params: CancelledNotificationParam);
        on_progress(params: ProgressNotificationParam);
        on_initialized();
        on_roots_list_changed();
        on_custom_notification(params: CustomNotification);
    }
}

/// Requests in the revisions with sessions, and the method that each has to reach.
fn requests() -> Vec<(&'static str, Value, &'static str)> {
    let page = || json!({"cursor": "page 2"});
    let uri = || json!({"uri": "shelf://1"});
    let prompt = json!({"type": "ref/prompt", "name": "pick"});
    let argument = json!({"name": "genre", "value": "cy"});
    let id = json!({"taskId": "t-1"});
    let update = json!({"taskId": "t-1", "inputResponses": {}});
    vec![
        ("ping", json!({}), "ping"),
        (
            "completion/complete",
            json!({"ref": prompt, "argument": argument}),
            "complete",
        ),
        ("logging/setLevel", json!({"level": "info"}), "set_level"),
        (
            "prompts/get",
            json!({"name": "pick", "arguments": {"genre": "x"}}),
            "get_prompt",
        ),
        ("prompts/list", page(), "list_prompts"),
        ("resources/list", page(), "list_resources"),
        (
            "resources/templates/list",
            page(),
            "list_resource_templates",
        ),
        ("resources/read", uri(), "read_resource"),
        ("resources/subscribe", uri(), "subscribe"),
        ("resources/unsubscribe", uri(), "unsubscribe"),
        (
            "tools/call",
            json!({"name": "look", "arguments": {"n": 1}, "_meta": {"progressToken": "p"}}),
            "call_tool",
        ),
        ("tools/list", page(), "list_tools"),
        (
            "vendor/thing",
            json!({"any": ["thing"]}),
            "on_custom_request",
        ),
        ("tasks/get", id.clone(), "get_task"),
        ("tasks/update", update, "update_task"),
        ("tasks/cancel", id, "cancel_task"),
        ("skills/list", page(), "list_skills"),
        (
            "skills/get",
            json!({"uri": "skill://pick/SKILL.md"}),
            "get_skill",
        ),
        ("resources/directory/read", uri(), "read_resource_directory"),
        ("server/discover", modern(json!({})), "discover"),
        (
            "subscriptions/listen",
            modern(json!({"notifications": {"toolsListChanged": true}})),
            "listen",
        ),
    ]
}

/// All answers and notifications that a client gets from a server.
async fn heard<H: ServerHandler>(server: H, telltale: &Telltale) -> (Vec<Value>, Vec<String>) {
    let mut client = Raw::open(server);
    let mut answers = vec![client.initialize().await];
    for (method, params, _) in requests() {
        answers.push(client.request(method, params).await);
    }
    let notifications = [
        (
            "notifications/cancelled",
            json!({"requestId": 4711, "reason": "x"}),
        ),
        (
            "notifications/progress",
            json!({"progressToken": "p", "progress": 1.0}),
        ),
        ("notifications/roots/list_changed", json!({})),
        ("notifications/vendor/thing", json!({"any": "thing"})),
    ];
    for (method, params) in notifications {
        client.notify(method, params).await;
        // Each is handled in another task, so send one by one to keep their order.
        client.request("ping", json!({})).await;
    }
    (answers, telltale.notified.lock().unwrap().clone())
}

#[tokio::test(start_paused = true)]
async fn every_request_and_notification_reaches_the_handler_as_without_the_wrapper() {
    let telltale = Telltale::default();
    let bare = heard(telltale.clone(), &telltale).await;

    let telltale = Telltale::default();
    let log = Log::default();
    let wrapped = Resilient::with_preset(telltale.clone(), &preset(&log));
    let wrapped = heard(wrapped, &telltale).await;

    assert_eq!(wrapped, bare);
    let (answers, notified) = wrapped;
    assert_eq!(
        answers[0]["result"]["instructions"], "negotiated with raw",
        "{:#}",
        answers[0]
    );
    for ((method, _, reached), answer) in requests().iter().zip(&answers[1..]) {
        assert_eq!(answer["error"]["code"], -31_000, "{method}: {answer:#}");
        assert_eq!(answer["error"]["message"], *reached, "{method}");
    }
    let notified: Vec<_> = notified
        .iter()
        .map(|note| note.split(' ').next().unwrap())
        .collect();
    let expected = [
        "initialize",
        "on_initialized",
        "accepted_subscription_filter",
        "on_cancelled",
        "on_progress",
        "on_roots_list_changed",
        "on_custom_notification",
    ];
    assert_eq!(notified, expected);
    // Only what goes through the stack is logged.
    let logged: Vec<_> = log.all().iter().map(|l| l["method"].clone()).collect();
    assert_eq!(logged, ["prompts/get", "resources/read", "tools/call"]);
}

#[tokio::test(start_paused = true)]
async fn the_wrapper_reports_the_server_info_of_the_handler() {
    let log = Log::default();
    let bare = Telltale::default();
    let wrapped = Resilient::with_preset(bare.clone(), &preset(&log));

    assert_eq!(wrapped.get_info(), bare.get_info());
    assert_eq!(wrapped.get_tool("look"), bare.get_tool("look"));
    assert!(wrapped.get_tool("look").is_some());
    assert_eq!(
        ServerHandler::supported_protocol_versions(&wrapped),
        ServerHandler::supported_protocol_versions(&bare)
    );
    let request = InitializeRequestParams::default();
    assert_eq!(
        wrapped.negotiate_initialize(&request),
        bare.negotiate_initialize(&request)
    );
    let filter = SubscriptionFilter::new();
    assert_eq!(
        wrapped.accepted_subscription_filter(&filter),
        bare.accepted_subscription_filter(&filter)
    );
}
