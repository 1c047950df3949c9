use crate::shop::{Book, Nap, Print, Quote, Quoted, Reservation, Shop};
use mcp_resilience::{
    Class, Failure,
    tower_mcp::{AnyError, Attempt},
};
use std::sync::Arc;
use tower_mcp::{
    CallToolResult, NoParams, RequestContext, Tool, ToolBuilder,
    extract::{Context, Extension, Json, State},
};

type Result = std::result::Result<CallToolResult, tower_mcp::Error>;

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::text(text)
}

/// Reports the begin of a call, if the client asked for progress.
async fn report_begin(context: &RequestContext) {
    context.report_progress(0.0, None, None).await;
}

async fn get_author(State(shop): State<Arc<Shop>>, Json(book): Json<Book>) -> Result {
    Ok(text(shop.author(&book)?))
}

async fn get_author_strict(State(shop): State<Arc<Shop>>, Json(book): Json<Book>) -> Result {
    let author = shop.author_strict(&book);
    // Without this, tower-mcp turns a tool's JSON-RPC error into a flagged result.
    Ok(text(author.map_err(|error| {
        Failure::new(Class::InvalidInput, "").with_rpc_error(error)
    })?))
}

async fn get_author_unchecked(State(shop): State<Arc<Shop>>, Json(book): Json<Book>) -> Result {
    Ok(text(shop.author_unchecked(&book).map_err(AnyError::from)?))
}

async fn recommend(State(shop): State<Arc<Shop>>, _: Json<NoParams>) -> Result {
    Ok(text(shop.recommend()))
}

async fn quote_price(
    State(shop): State<Arc<Shop>>,
    Extension(attempt): Extension<Attempt>,
    context: Context,
    Json(quote): Json<Quote>,
) -> Result {
    report_begin(&context).await;
    Ok(match shop.quote(&quote, attempt.number())? {
        Quoted::Price(price) => CallToolResult::json(price),
        // Passes on the answer of the service unchanged. The stack repeats the call only because
        // the tool is read-only.
        Quoted::Refused(refusal) => {
            let mut result = CallToolResult::error(refusal.to_string());
            result.structured_content = Some(refusal);
            result
        }
    })
}

async fn reserve(
    State(shop): State<Arc<Shop>>,
    Extension(attempt): Extension<Attempt>,
    Json(reservation): Json<Reservation>,
) -> Result {
    let reserved = shop.reserve(&reservation, attempt.number()).await;
    Ok(text(reserved.map_err(AnyError::from)?))
}

async fn shelve(_: Json<NoParams>) -> Result {
    Err(Shop::shelve().into())
}

async fn sleep(State(shop): State<Arc<Shop>>, context: Context, Json(nap): Json<Nap>) -> Result {
    report_begin(&context).await;
    Ok(text(shop.sleep(&nap).await?))
}

async fn print_catalog(
    State(shop): State<Arc<Shop>>,
    context: Context,
    Json(print): Json<Print>,
) -> Result {
    let has_token = context.progress_token().is_some();
    let (context, total) = (&context, print.seconds);
    let report = |done| async move { context.report_progress(done, Some(total), None).await };
    Ok(text(shop.print(&print, has_token.then_some(report)).await?))
}

pub(super) fn all(shop: &Arc<Shop>) -> Vec<Tool> {
    let shop = || Arc::clone(shop);
    vec![
        ToolBuilder::new("get_author")
            .description("Looks up the author of a book in the catalog.")
            .read_only()
            .idempotent()
            .extractor_handler(shop(), get_author)
            .build(),
        ToolBuilder::new("get_author_strict")
            .description(
                "Looks up an author; a book that does not exist is an error of the protocol.",
            )
            .read_only()
            .extractor_handler(shop(), get_author_strict)
            .build(),
        ToolBuilder::new("get_author_unchecked")
            .description("Looks up an author; nobody thought of books that do not exist.")
            .read_only()
            .extractor_handler(shop(), get_author_unchecked)
            .build(),
        ToolBuilder::new("recommend")
            .description("Recommends a book, out of a list with too few entries.")
            .read_only()
            .extractor_handler(shop(), recommend)
            .build(),
        ToolBuilder::new("quote_price")
            .description("Asks the price service, which has a rate limit.")
            .read_only()
            .extractor_handler(shop(), quote_price)
            .build(),
        ToolBuilder::new("reserve")
            .description("Reserves a book, and says how many reservations there are.")
            .non_destructive()
            .extractor_handler(shop(), reserve)
            .build(),
        ToolBuilder::new("shelve")
            .description("Puts books back on a shelf that is gone.")
            .extractor_handler((), shelve)
            .build(),
        ToolBuilder::new("sleep")
            .description(
                "Sleeps. Reports progress when it begins, if the client asks for progress.",
            )
            .read_only()
            .extractor_handler(shop(), sleep)
            .build(),
        ToolBuilder::new("print_catalog")
            .description(
                "Prints the catalog, which takes its time. Reports progress, if it is to and the \
                 client asks for it.",
            )
            .read_only()
            .extractor_handler(shop(), print_catalog)
            .build(),
    ]
}
