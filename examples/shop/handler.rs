use super::{Bookshop, catalog::no_such_book};
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
use std::io;

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
        let title = uri
            .strip_prefix("books://")
            .ok_or_else(|| Failure::not_found("Only books:// resources are served here."))?;
        let author = self.look_up(title)?;
        let text = format!("{title} by {author}");
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
        let title = match genre {
            "science fiction" => "Dune",
            "cyberpunk" => "Neuromancer",
            // The two titles below stand for a shelf that is in disorder.
            other => other,
        };
        let author = match self.look_up(title) {
            Ok(author) => author,
            Err(Missing::Book(_)) => Err(Failure::not_found(format!(
                "No books of the genre '{genre}'."
            )))?,
            Err(missing) => Err(missing)?,
        };
        let text = format!("Recommend a {genre} novel, such as {title} by {author}.");
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).into())
    }
}

/// Why a book is not there.
enum Missing {
    Book(Failure),
    Shelf(AnyError),
}

impl From<Missing> for ErrorData {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Book(failure) => failure.into(),
            Missing::Shelf(error) => error.into(),
        }
    }
}

impl Bookshop {
    fn look_up(&self, title: &str) -> Result<&str, Missing> {
        match title {
            "Broken" => {
                let error = io::Error::other("/srv/bookshop/shelf-4 is not mounted");
                Err(Missing::Shelf(error.into()))
            }
            "Panic" => panic!("shelf 5 has fallen over"),
            title => self
                .catalog
                .find(title)
                .ok_or_else(|| Missing::Book(Failure::not_found(no_such_book(title)))),
        }
    }
}
