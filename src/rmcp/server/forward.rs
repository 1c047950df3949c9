//! [`Resilient`] as a handler: three methods go through the stack, all others straight to the
//! handler.
#![expect(
    deprecated,
    reason = "what MCP has deprecated is forwarded as long as rmcp has it"
)]

use super::{Resilient, ServerAnswer, ServerCall, error_data::data, learned::learn};
use crate::{
    classify::catch_panic,
    failure::BoxError,
    rmcp::{Answer, Request},
    serve::{CatchPanics, thrown},
};
use ::rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
        CompleteRequestParams, CompleteResult, CustomNotification, CustomRequest, CustomResult,
        DiscoverResult, GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams,
        GetSkillResult, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
        ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
        ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, ReadResourceRequestParams,
        ReadResourceResponse, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
        SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{MaybeSendFuture, NotificationContext, RequestContext, SubscriptionContext},
};
use std::borrow::Cow;
use tower::Service;

type Context = RequestContext<RoleServer>;
type Notified = NotificationContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

/// The stack answers each kind of request with its own kind of answer, unless a layer in it invents
/// another.
fn wrong_kind() -> ErrorData {
    ErrorData::internal_error("the stack answered with a result of another method", None)
}

/// Requests are answered even if the handler panics: rmcp would never answer.
async fn under_net<T>(answer: impl Future<Output = Result<T, ErrorData>>) -> Result<T, ErrorData> {
    let answer = CatchPanics::new(answer).await;
    answer.unwrap_or_else(|panic| Err(data(thrown::report_panic(&panic))))
}

macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {$(
        async fn $name(&self, $($argument: $type),*) -> Result<$output, ErrorData> {
            under_net(async { self.handler.$name($($argument),*).await }).await
        }
    )*};
}

macro_rules! notify {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        fn $name(&self, $($argument: $type),*) -> impl Future<Output = ()> + MaybeSendFuture + '_ {
            self.handler.$name($($argument),*)
        }
    )*};
}

// A method of a later rmcp that is not forwarded would silently have rmcp's default.
#[deny(clippy::missing_trait_methods)]
impl<H, S> ServerHandler for Resilient<H, S>
where
    H: ServerHandler,
    S: Service<ServerCall, Response = ServerAnswer> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let request = Request::Tool(request);
        match self.dispatch(request, context).await? {
            Answer::Tool(response) => Ok(response),
            _ => Err(wrong_kind()),
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let request = Request::Resource(request);
        match self.dispatch(request, context).await? {
            Answer::Resource(response) => Ok(response),
            _ => Err(wrong_kind()),
        }
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let request = Request::Prompt(request);
        match self.dispatch(request, context).await? {
            Answer::Prompt(response) => Ok(response),
            _ => Err(wrong_kind()),
        }
    }

    async fn list_tools(
        &self,
        request: Page,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let listing = async { self.handler.list_tools(request, context).await };
        let page = under_net(listing).await?;
        learn(&self.learned, &page);
        Ok(page)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let (request, context) = match self.refuse_unreadable(request, context).await {
            Ok(answer) => return answer,
            Err(of_the_handler) => of_the_handler,
        };
        let answer = async { self.handler.on_custom_request(request, context).await };
        under_net(answer).await
    }

    fn get_info(&self) -> ServerConfig {
        let mut info = self.handler.get_info();
        self.tell(&mut info.capabilities);
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        let initializing = async { self.handler.initialize(request, context).await };
        let mut result = under_net(initializing).await?;
        self.tell(&mut result.capabilities);
        Ok(result)
    }

    async fn discover(&self, context: Context) -> Result<DiscoverResult, ErrorData> {
        let discovering = async { self.handler.discover(context).await };
        let mut result = under_net(discovering).await?;
        self.tell(&mut result.capabilities);
        Ok(result)
    }

    /// A run that has lost its request can still be cancelled by it.
    async fn on_cancelled(&self, notification: CancelledNotificationParam, context: Notified) {
        if let Some(request) = &notification.request_id {
            self.cancellations.cancel(&context.peer, request);
        }
        self.handler.on_cancelled(notification, context).await;
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.known_tool(name)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let supported = catch_panic(|| self.handler.supported_protocol_versions());
        supported.unwrap_or_else(|panic| {
            thrown::report_panic(&panic);
            ProtocolVersion::KNOWN_VERSIONS.into()
        })
    }

    fn negotiate_initialize(
        &self,
        request: &InitializeRequestParams,
    ) -> Result<InitializeResult, ErrorData> {
        let negotiated = catch_panic(|| self.handler.negotiate_initialize(request));
        let negotiated = negotiated.unwrap_or_else(|panic| Err(data(thrown::report_panic(&panic))));
        negotiated.map(|mut result| {
            self.tell(&mut result.capabilities);
            result
        })
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // Accepts nothing that the handler cannot check.
        catch_panic(|| self.handler.accepted_subscription_filter(requested)).unwrap_or_else(
            |panic| {
                thrown::report_panic(&panic);
                None
            },
        )
    }

    forward! {
        ping(context: Context) -> ();
        complete(request: CompleteRequestParams, context: Context) -> CompleteResult;
        set_level(request: SetLevelRequestParams, context: Context) -> ();
        list_prompts(request: Page, context: Context) -> ListPromptsResult;
        list_resources(request: Page, context: Context) -> ListResourcesResult;
        list_resource_templates(request: Page, context: Context) -> ListResourceTemplatesResult;
        listen(context: SubscriptionContext) -> ();
        subscribe(request: SubscribeRequestParams, context: Context) -> ();
        unsubscribe(request: UnsubscribeRequestParams, context: Context) -> ();
        get_task(request: GetTaskParams, context: Context) -> GetTaskResult;
        update_task(request: UpdateTaskParams, context: Context) -> ();
        cancel_task(request: CancelTaskParams, context: Context) -> ();
        list_skills(request: Page, context: Context) -> ListSkillsResult;
        get_skill(request: GetSkillRequestParams, context: Context) -> GetSkillResult;
        read_resource_directory(request: ReadResourceDirectoryRequestParams, context: Context) -> ReadResourceDirectoryResult;
    }

    notify! {
        on_progress(notification: ProgressNotificationParam, context: Notified);
        on_initialized(context: Notified);
        on_roots_list_changed(context: Notified);
        on_custom_notification(notification: CustomNotification, context: Notified);
    }
}
