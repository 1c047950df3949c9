use super::{Book, Catalog, Nap, Print, Quote, Reservation, catalog::no_such_book, input::Fail};
use mcp_resilience::{Failure, failure::RpcError};
use serde_json::{Value, json};
use std::{
    future::pending,
    io,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};
use tokio::time::{Instant, sleep, sleep_until};
use tower::BoxError;

/// The tools of the shop, without resilience.
#[derive(Debug)]
pub(crate) struct Shop {
    catalog: Catalog,
    reservations: AtomicU64,
}

/// The answer of the price service.
#[derive(Debug)]
pub(crate) enum Quoted {
    Price(Value),
    Refused(Value),
}

#[derive(Debug, thiserror::Error)]
#[error("cannot open /srv/bookshop/authors.db as user shop with password hunter2")]
struct AuthorsUnreadable(#[source] io::Error);

/// The longest time that a tool may take: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

fn duration(field: &'static str, seconds: f64) -> Result<Duration, Failure> {
    let duration = Duration::try_from_secs_f64(seconds)
        .map_err(|error| Failure::invalid_input(field, &error.to_string()))?;
    if duration > LONGEST {
        return Err(Failure::invalid_input(field, "expected a year at most"));
    }
    Ok(duration)
}

impl Shop {
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            reservations: AtomicU64::new(0),
        }
    }

    /// The author of a book, or a failure with a message for the model.
    pub(crate) fn author(&self, book: &Book) -> Result<String, Failure> {
        Ok(self.catalog.author(&book.title)?.to_owned())
    }

    /// The author; a book that does not exist is an error of the protocol.
    pub(crate) fn author_strict(&self, book: &Book) -> Result<String, RpcError> {
        let author = self.catalog.find(&book.title);
        author.map(str::to_owned).ok_or_else(|| {
            let data = json!({"title": book.title});
            RpcError::new(
                RpcError::INVALID_PARAMS,
                no_such_book(&book.title),
                Some(data),
            )
        })
    }

    /// The author. A missing book is an unexpected error.
    pub(crate) fn author_unchecked(&self, book: &Book) -> Result<String, BoxError> {
        match self.catalog.find(&book.title) {
            Some(author) => Ok(author.to_owned()),
            None => Err(AuthorsUnreadable(io::Error::other(
                "table `authors` is locked",
            )))?,
        }
    }

    /// A book, out of a list with too few entries.
    pub(crate) fn recommend(&self) -> String {
        let favourites: Vec<&str> = self.catalog.titles().collect();
        favourites[favourites.len()].to_owned()
    }

    /// Asks the price service, which has a rate limit.
    pub(crate) fn quote(&self, quote: &Quote, attempt: u32) -> Result<Quoted, Failure> {
        self.catalog.author(&quote.title)?;
        if attempt > quote.refusals {
            return Ok(Quoted::Price(json!({
                "title": quote.title,
                "price": "12.50",
            })));
        }
        Ok(Quoted::Refused(json!({
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
    pub(crate) async fn reserve(
        &self,
        reservation: &Reservation,
        attempt: u32,
    ) -> Result<String, BoxError> {
        self.catalog.author(&reservation.title)?;
        if matches!(reservation.fail, Fail::Refused) && attempt == 1 {
            // Nothing is reserved yet, so the stack may repeat the call.
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

    /// Puts books on a missing shelf, which is fatal.
    pub(crate) fn shelve() -> Failure {
        Failure::fatal("the shelf is gone, no call can succeed any more")
    }

    /// Sleeps.
    pub(crate) async fn sleep(&self, nap: &Nap) -> Result<String, Failure> {
        let length = duration("seconds", nap.seconds)?;
        sleep(length).await;
        Ok(format!("Slept for {} s.", nap.seconds))
    }

    /// Prints the catalog, slowly. Reports how many seconds have passed.
    pub(crate) async fn print<F: Future<Output = ()>>(
        &self,
        print: &Print,
        report: Option<impl Fn(f64) -> F>,
    ) -> Result<String, Failure> {
        let length = duration("seconds", print.seconds)?;
        let step = duration("report_every", print.report_every)?;
        let end = Instant::now() + length;
        if let (Some(report), false) = (report, step.is_zero()) {
            let mut done = Duration::ZERO;
            while done.saturating_add(step) < length {
                sleep(step).await;
                done += step;
                report(done.as_secs_f64()).await;
            }
        }
        sleep_until(end).await;
        Ok(self.catalog.titles().collect::<Vec<_>>().join("\n"))
    }

    /// A book by its URI.
    pub(crate) fn read(&self, uri: &str) -> Result<String, BoxError> {
        let title = uri
            .strip_prefix("books://")
            .ok_or_else(|| Failure::not_found("Only books:// resources are served here."))?;
        let author = self
            .look_up(title)?
            .ok_or_else(|| Failure::not_found(no_such_book(title)))?;
        Ok(format!("{title} by {author}"))
    }

    /// A prompt that asks for a book of a genre.
    pub(crate) fn recommend_by(&self, genre: &str) -> Result<String, BoxError> {
        let title = match genre {
            "science fiction" => "Dune",
            "cyberpunk" => "Neuromancer",
            // The titles `Broken` and `Panic` stand for a broken shop.
            other => other,
        };
        let author = self
            .look_up(title)?
            .ok_or_else(|| Failure::not_found(format!("No books of the genre '{genre}'.")))?;
        Ok(format!(
            "Recommend a {genre} novel, such as {title} by {author}."
        ))
    }

    fn look_up(&self, title: &str) -> Result<Option<&str>, BoxError> {
        match title {
            "Broken" => Err(io::Error::other("/srv/bookshop/shelf-4 is not mounted"))?,
            "Panic" => panic!("shelf 5 has fallen over"),
            title => Ok(self.catalog.find(title)),
        }
    }
}
