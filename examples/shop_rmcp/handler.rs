use super::Bookshop;
use mcp_resilience::{Failure, rmcp::AnyError};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
        ListPromptsResult, ListResourceTemplatesResult, PaginatedRequestParams, Prompt,
        PromptArgument, PromptMessage, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, ResourceContents, ResourceTemplate, Role, ServerCapabilities,
        ServerConfig,
    },
    service::RequestContext,
    tool_handler,
};

#[tool_handler(router = self.tools)]
impl ServerHandler for Bookshop {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let name = Implementation::new("bookshop", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(name)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let book = ResourceTemplate::new("books://{title}", "book");
        Ok(ListResourceTemplatesResult::with_all_items(vec![book]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let text = self.shop.read(&uri).map_err(AnyError::from)?;
        let contents = ResourceContents::text(text, uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let genre = PromptArgument::new("genre").with_required(true);
        let prompt = Prompt::new(
            "recommend_book",
            Some("Asks for a book."),
            Some(vec![genre]),
        );
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != "recommend_book" {
            return Err(Failure::not_found(format!("No prompt named '{}'.", request.name)).into());
        }
        let arguments = request.arguments.unwrap_or_default();
        let genre = arguments
            .get("genre")
            .and_then(|genre| genre.as_str())
            .ok_or_else(|| Failure::invalid_input("genre", "expected a string"))?;
        let text = self.shop.recommend_by(genre).map_err(AnyError::from)?;
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).into())
    }
}
