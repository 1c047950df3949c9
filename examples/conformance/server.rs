use crate::{
    asking, fixtures,
    fixtures::typed,
    interim::{Round, States, Step},
    subscriptions::Subscriptions,
    tools,
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
        CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse,
        GetPromptResult, Implementation, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
        SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext},
};
use serde_json::{Value, json};

/// How long clients may keep lists and resources.
const TTL_MS: u64 = 60_000;

/// The suite's tools, resources and prompts.
#[derive(Clone, Default)]
pub(crate) struct Conformance {
    states: States,
    subscriptions: Subscriptions,
}

fn tool_result(mut json: Value) -> Result<CallToolResponse, ErrorData> {
    json["resultType"] = "complete".into();
    typed::<CallToolResult>(json).map(Into::into)
}

impl ServerHandler for Conformance {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .enable_logging()
            .build();
        let name = Implementation::new("conformance", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(name)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools: Vec<Tool> = typed(fixtures::tools()).ok()?;
        tools.into_iter().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let list = ListToolsResult::with_all_items(typed(fixtures::tools())?);
        Ok(list
            .with_ttl_ms(TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = &*request.name;
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let round = Round {
            responses: request.input_responses,
            state: request.request_state,
        };
        if let Some(step) = round.call(name, &self.states, &context) {
            return match step? {
                Step::Asked(result) => Ok(result.into()),
                Step::Done(text) => tool_result(Step::said(&text)),
            };
        }
        if let Some(result) = tools::call(name, &context).await {
            return tool_result(result);
        }
        if let Some(result) = asking::call(name, &arguments, &context).await {
            return tool_result(result?);
        }
        match name {
            "test_custom_header" => {
                let value = arguments["value"].as_str();
                let value = value
                    .ok_or_else(|| ErrorData::invalid_params("`value` must be a string", None))?;
                tool_result(Step::said(value))
            }
            "test_trigger_tool_change" => {
                self.subscriptions.announce("tools").await?;
                tool_result(Step::said("They were told."))
            }
            "test_trigger_prompt_change" => {
                self.subscriptions.announce("prompts").await?;
                tool_result(Step::said("They were told."))
            }
            "test_missing_capability" => {
                let needed: ClientCapabilities = typed(json!({"sampling": {}}))?;
                let client = context.client_capabilities().unwrap_or_default();
                if client.sampling.is_none() {
                    return Err(ErrorData::missing_required_client_capability(needed));
                }
                tool_result(Step::said("The client can sample."))
            }
            "test_streaming_elicitation" => {
                let asked = Round {
                    responses: round.responses,
                    state: None,
                };
                let name = "test_input_required_result_elicitation";
                match asked.call(name, &self.states, &context) {
                    Some(step) => match step? {
                        Step::Asked(result) => Ok(result.into()),
                        Step::Done(text) => tool_result(Step::said(&text)),
                    },
                    None => tool_result(Step::said("Nothing to ask.")),
                }
            }
            _ => Err(ErrorData::invalid_params(
                format!("no tool named `{name}`"),
                None,
            )),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let list = ListResourcesResult::with_all_items(typed(fixtures::resources())?);
        Ok(list
            .with_ttl_ms(TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let list = ListResourceTemplatesResult::with_all_items(typed(fixtures::templates())?);
        Ok(list
            .with_ttl_ms(TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let Some(contents) = fixtures::contents(&uri) else {
            let data = json!({"uri": uri});
            return Err(ErrorData::invalid_params("no such resource", Some(data)));
        };
        let result = ReadResourceResult::new(vec![typed(contents)?]);
        Ok(result
            .with_ttl_ms(TTL_MS)
            .with_cache_scope(CacheScope::Public)
            .into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let list = ListPromptsResult::with_all_items(typed(fixtures::prompts())?);
        Ok(list
            .with_ttl_ms(TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = &*request.name;
        if name == "test_input_required_result_prompt" {
            let round = Round {
                responses: request.input_responses,
                state: request.request_state,
            };
            return match round.prompt()? {
                Step::Asked(result) => Ok(result.into()),
                Step::Done(text) => {
                    let message = json!({"role": "user", "content": fixtures::text(&text)});
                    Ok(GetPromptResult::new(typed(json!([message]))?).into())
                }
            };
        }
        let arguments = json!(request.arguments);
        let argument = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        let Some(messages) = fixtures::messages(name, argument) else {
            let told = format!("no prompt named `{name}`");
            return Err(ErrorData::invalid_params(told, None));
        };
        Ok(GetPromptResult::new(typed(messages.into())?).into())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = json!(["paris", "park", "party"]);
        let completion = json!({"values": values, "total": 3, "hasMore": false});
        typed(json!({"resultType": "complete", "completion": completion}))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.subscriptions.add(context.sink().clone());
        context.cancelled().await;
        Ok(())
    }
}
