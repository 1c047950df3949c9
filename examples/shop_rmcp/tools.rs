use super::Bookshop;
use crate::shop::{Book, Nap, Print, Quote, Quoted, Reservation, Shop};
use mcp_resilience::{
    Failure,
    rmcp::{AnyError, Attempt},
};
use rmcp::{
    ErrorData, RoleServer,
    handler::server::{tool::Extension, wrapper::Parameters},
    model::{CallToolResult, ErrorCode, ProgressNotificationParam},
    service::RequestContext,
    tool, tool_router,
};

/// Reports the begin of a call, if the client asked for progress.
async fn report_begin(context: &RequestContext<RoleServer>) {
    if let Some(token) = context.meta.get_progress_token() {
        let begun = ProgressNotificationParam::new(token, 0.0);
        // A client that is gone needs no progress.
        let _ = context.peer.notify_progress(begun).await;
    }
}

#[tool_router(vis = "pub(super)")]
impl Bookshop {
    /// Looks up the author of a book in the catalog.
    #[tool(annotations(read_only_hint = true, idempotent_hint = true))]
    async fn get_author(&self, Parameters(book): Parameters<Book>) -> Result<String, Failure> {
        self.shop.author(&book)
    }

    /// Looks up an author; a book that does not exist is an error of the protocol.
    #[tool(annotations(read_only_hint = true))]
    async fn get_author_strict(
        &self,
        Parameters(book): Parameters<Book>,
    ) -> Result<String, ErrorData> {
        let author = self.shop.author_strict(&book);
        author.map_err(|error| ErrorData::new(ErrorCode(error.code), error.message, error.data))
    }

    /// Looks up an author; nobody thought of books that do not exist.
    #[tool(annotations(read_only_hint = true))]
    async fn get_author_unchecked(
        &self,
        Parameters(book): Parameters<Book>,
    ) -> Result<String, AnyError> {
        Ok(self.shop.author_unchecked(&book)?)
    }

    /// Recommends a book, out of a list with too few entries.
    #[tool(annotations(read_only_hint = true))]
    async fn recommend(&self) -> String {
        self.shop.recommend()
    }

    /// Asks the price service, which has a rate limit.
    #[tool(annotations(read_only_hint = true))]
    async fn quote_price(
        &self,
        Parameters(quote): Parameters<Quote>,
        Extension(attempt): Extension<Attempt>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Failure> {
        report_begin(&context).await;
        Ok(match self.shop.quote(&quote, attempt.number())? {
            Quoted::Price(price) => CallToolResult::structured(price),
            // Passes on the answer of the service unchanged. The stack repeats the call only
            // because the tool is read-only.
            Quoted::Refused(refusal) => CallToolResult::structured_error(refusal),
        })
    }

    /// Reserves a book, and says how many reservations there are.
    #[tool(annotations(idempotent_hint = false, destructive_hint = false))]
    async fn reserve(
        &self,
        Parameters(reservation): Parameters<Reservation>,
        Extension(attempt): Extension<Attempt>,
    ) -> Result<String, AnyError> {
        Ok(self.shop.reserve(&reservation, attempt.number()).await?)
    }

    /// Puts books back on a shelf that is gone.
    #[tool]
    async fn shelve(&self) -> Result<String, Failure> {
        Err(Shop::shelve())
    }

    /// Sleeps. Reports progress when it begins, if the client asks for progress.
    #[tool(annotations(read_only_hint = true))]
    async fn sleep(
        &self,
        Parameters(nap): Parameters<Nap>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, Failure> {
        report_begin(&context).await;
        self.shop.sleep(&nap).await
    }

    /// Prints the catalog, which takes its time. Reports progress, if it is to and the client asks for it.
    #[tool(annotations(read_only_hint = true))]
    async fn print_catalog(
        &self,
        Parameters(print): Parameters<Print>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, Failure> {
        let token = context.meta.get_progress_token();
        let report = token.map(|token| {
            let (peer, total) = (context.peer.clone(), print.seconds);
            move |done| {
                let (peer, token) = (peer.clone(), token.clone());
                async move {
                    let progress = ProgressNotificationParam::new(token, done).with_total(total);
                    // A client that is gone needs no progress.
                    let _ = peer.notify_progress(progress).await;
                }
            }
        });
        self.shop.print(&print, report).await
    }
}
