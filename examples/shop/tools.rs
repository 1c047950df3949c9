use super::{Bookshop, catalog::no_such_book};
use mcp_resilience::{
    Failure,
    rmcp::{AnyError, Attempt},
};
use rmcp::{
    ErrorData, RoleServer,
    handler::server::{tool::Extension, wrapper::Parameters},
    model::{CallToolResult, ProgressNotificationParam},
    schemars,
    service::RequestContext,
    tool, tool_router,
};
use serde::Deserialize;
use serde_json::json;
use std::{future::pending, io, sync::atomic::Ordering::Relaxed, time::Duration};
use tokio::time::{Instant, sleep, sleep_until};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Book {
    /// The book's title, as the catalog has it.
    title: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Quote {
    /// The book's title, as the catalog has it.
    title: String,
    /// How often the price service refuses before it answers.
    #[serde(default)]
    refusals: u32,
    /// How long it asks to wait each time, in seconds.
    #[serde(default = "one_second")]
    retry_after: f64,
}

fn one_second() -> f64 {
    1.0
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Reservation {
    /// The book's title, as the catalog has it.
    title: String,
    /// What goes wrong.
    #[serde(default)]
    fail: Fail,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fail {
    /// Nothing.
    #[default]
    None,
    /// The shelf is busy at the first attempt, and nothing is reserved by it.
    Refused,
    /// The book is reserved, but the payment service does not answer.
    Timeout,
    /// The book is reserved, but the connection breaks.
    Lost,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Nap {
    /// How long to sleep, in seconds.
    seconds: f64,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Print {
    /// How long it takes, in seconds.
    seconds: f64,
    /// After how many seconds it reports progress, again and again; 0 for never.
    #[serde(default)]
    report_every: f64,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot open /srv/bookshop/authors.db as user shop with password hunter2")]
struct AuthorsUnreadable(#[source] io::Error);

/// Tells the client that a call has begun, if it gave a token for that.
async fn report_begin(context: &RequestContext<RoleServer>) {
    if let Some(token) = context.meta.get_progress_token() {
        let begun = ProgressNotificationParam::new(token, 0.0);
        // A client that is gone needs no progress.
        let _ = context.peer.notify_progress(begun).await;
    }
}

/// The longest that anything here takes: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

fn duration(field: &'static str, seconds: f64) -> Result<Duration, Failure> {
    let duration = Duration::try_from_secs_f64(seconds)
        .map_err(|error| Failure::invalid_input(field, &error.to_string()))?;
    if duration > LONGEST {
        return Err(Failure::invalid_input(field, "expected a year at most"));
    }
    Ok(duration)
}

#[tool_router(vis = "pub(super)")]
impl Bookshop {
    /// Looks up the author of a book in the catalog.
    #[tool(annotations(read_only_hint = true, idempotent_hint = true))]
    async fn get_author(&self, Parameters(book): Parameters<Book>) -> Result<String, Failure> {
        Ok(self.catalog.author(&book.title)?.to_owned())
    }

    /// Looks up an author; a book that does not exist is an error of the protocol.
    #[tool(annotations(read_only_hint = true))]
    async fn get_author_strict(
        &self,
        Parameters(book): Parameters<Book>,
    ) -> Result<String, ErrorData> {
        let author = self.catalog.find(&book.title);
        author.map(str::to_owned).ok_or_else(|| {
            ErrorData::invalid_params(
                no_such_book(&book.title),
                Some(json!({"title": book.title})),
            )
        })
    }

    /// Looks up an author; nobody thought of books that do not exist.
    #[tool(annotations(read_only_hint = true))]
    async fn get_author_unchecked(
        &self,
        Parameters(book): Parameters<Book>,
    ) -> Result<String, AnyError> {
        match self.catalog.find(&book.title) {
            Some(author) => Ok(author.to_owned()),
            None => Err(AuthorsUnreadable(io::Error::other(
                "table `authors` is locked",
            )))?,
        }
    }

    /// Recommends a book, out of a list with too few entries.
    #[tool(annotations(read_only_hint = true))]
    async fn recommend(&self) -> Result<String, Failure> {
        let favourites: Vec<&str> = self.catalog.titles().collect();
        Ok(favourites[favourites.len()].to_owned())
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
        self.catalog.author(&quote.title)?;
        if attempt.number() > quote.refusals {
            return Ok(CallToolResult::structured(json!({
                "title": quote.title,
                "price": "12.50",
            })));
        }
        // What the service answers, handed on as it is: called again only because the tool is read-only.
        Ok(CallToolResult::structured_error(json!({
            "service": "single",
            "code": "rate_limited",
            "error": "Rate limit exceeded",
            "status": 429,
            "retryAfter": quote.retry_after,
            "current": {"concurrency": 1, "rpm": 61},
            "limits": {"maxConcurrency": 5, "maxRpm": 60},
        })))
    }

    /// Reserves a book, and says how many reservations there are.
    #[tool(annotations(idempotent_hint = false, destructive_hint = false))]
    async fn reserve(
        &self,
        Parameters(reservation): Parameters<Reservation>,
        Extension(attempt): Extension<Attempt>,
    ) -> Result<String, AnyError> {
        self.catalog.author(&reservation.title)?;
        if matches!(reservation.fail, Fail::Refused) && attempt.number() == 1 {
            // Nothing is reserved yet: the stack may call again.
            return Err(Failure::at_capacity(None).before_running().into());
        }
        let count = self.reservations.fetch_add(1, Relaxed) + 1;
        match reservation.fail {
            Fail::None | Fail::Refused => Ok(format!("Reserved. Reservations so far: {count}")),
            Fail::Timeout => {
                let payment = pending::<String>();
                Ok(tokio::time::timeout(Duration::from_millis(50), payment).await?)
            }
            Fail::Lost => Err(io::Error::from(io::ErrorKind::ConnectionReset))?,
        }
    }

    /// Puts books back on a shelf that is gone.
    #[tool]
    async fn shelve(&self) -> Result<String, Failure> {
        Err(Failure::fatal(
            "the shelf is gone, no call can succeed any more",
        ))
    }

    /// Sleeps. Reports progress when it begins, if the client asks for progress.
    #[tool(annotations(read_only_hint = true))]
    async fn sleep(
        &self,
        Parameters(nap): Parameters<Nap>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, Failure> {
        report_begin(&context).await;
        let length = duration("seconds", nap.seconds)?;
        sleep(length).await;
        Ok(format!("Slept for {} s.", nap.seconds))
    }

    /// Prints the catalog, which takes its time. Reports progress, if it is to and the client asks for it.
    #[tool(annotations(read_only_hint = true))]
    async fn print_catalog(
        &self,
        Parameters(print): Parameters<Print>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, Failure> {
        let length = duration("seconds", print.seconds)?;
        let step = duration("report_every", print.report_every)?;
        let end = Instant::now() + length;
        let token = context.meta.get_progress_token();
        if let (Some(token), false) = (token, step.is_zero()) {
            let mut done = Duration::ZERO;
            while done.saturating_add(step) < length {
                sleep(step).await;
                done += step;
                let progress = ProgressNotificationParam::new(token.clone(), done.as_secs_f64())
                    .with_total(print.seconds);
                // A client that is gone needs no progress.
                let _ = context.peer.notify_progress(progress).await;
            }
        }
        sleep_until(end).await;
        Ok(self.catalog.titles().collect::<Vec<_>>().join("\n"))
    }
}
