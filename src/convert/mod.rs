//! Converts errors of other crates, and an HTTP API's answer, to a [`Failure`](crate::Failure).
//!
//! | A tool has | It writes | Needs |
//! |---|---|---|
//! | an [`io::Error`](std::io::Error), a boxed error, a timeout of tower or tokio | `?` | |
//! | any other error | [`.or_failure()?`](OrFailure::or_failure) | |
//! | an error of its own | `?`, with [`IntoFailure`] | |
//! | a status and headers of the `http` crate | `Failure::from_status` | feature `http` |
//! | an `http::Response` or a `reqwest::Response` | `.failure_for_status()?` of `ResponseExt` | feature `http` or `reqwest` |
//! | a `reqwest::Error` | `?` | feature `reqwest` |
//! | an `anyhow::Error`, an `eyre::Report` | `?` | feature `anyhow`, `eyre` |
//! | the same without the feature | `.map_err(...)?`, [as below](#reports-without-a-feature) | |
//!
//! # Whether the tool ran
//!
//! All of these are about a request that *the tool* made. They do not say whether the tool had an
//! effect, by this request or before it. So the delivery of a failure from an HTTP API's answer or a
//! `reqwest::Error` is `Unknown`, and a tool without hints is not called again. The author of the
//! tool may know more:
//!
//! | The tool | The API answered | Then |
//! |---|---|---|
//! | did nothing before | 401, 403, 404, 429, or 503 with `Retry-After`, which refuse the request | call [`before_running`](crate::Failure::before_running) |
//! | did nothing before | 500, 502, 504, or not at all: the API may have acted | do nothing |
//! | did something that a repeat would do twice | anything | do nothing |
//! | only reads, or may run twice | anything | say so in the tool's annotations |
//!
#![cfg_attr(
    feature = "http",
    doc = r"
# An HTTP API's answer

```
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use mcp_resilience::{Class, Failure};
use std::time::Duration;

# fn main() -> Result<(), Failure> {
let mut headers = HeaderMap::new();
assert!(Failure::from_status(StatusCode::OK, &headers).is_none());

headers.insert(RETRY_AFTER, 30.into());
let failure = Failure::from_status(StatusCode::TOO_MANY_REQUESTS, &headers).unwrap();
assert_eq!(failure.class(), Class::RateLimited);
assert_eq!(failure.retry_after(), Some(Duration::from_secs(30)));
# Ok(())
# }
```

| Status | Class | Repeated, if the tool may run twice |
|---|---|---|
| 1xx, 2xx, 3xx | none: it is no failure | |
| 401 | [`Unauthorized`](crate::failure::Class::Unauthorized) | no |
| 403 | [`Forbidden`](crate::failure::Class::Forbidden) | no |
| 404, 410 | [`NotFound`](crate::failure::Class::NotFound) | no |
| 408 | [`Timeout`](crate::failure::Class::Timeout) | yes |
| 429 | [`RateLimited`](crate::failure::Class::RateLimited) | yes |
| any other 4xx | [`InvalidInput`](crate::failure::Class::InvalidInput) | no |
| 503 | [`Unavailable`](crate::failure::Class::Unavailable) | yes |
| 500, 502, 504, and any other from 500 on | [`Upstream`](crate::failure::Class::Upstream) | yes |

The delivery is [`Unknown`](crate::failure::Delivery::Unknown) at all of them.

`Retry-After` is kept at any of them, in every form that [`retry_after`](crate::classify::retry_after)
reads.
"
)]
#![cfg_attr(
    feature = "reqwest",
    doc = r#"
# With reqwest

```no_run
use mcp_resilience::{Failure, convert::ResponseExt};

async fn weather(city: &str) -> Result<String, Failure> {
    let url = format!("https://weather.example/{city}");
    // No connection, too late; then 429, 503, 404, …; then a body that breaks off.
    let response = reqwest::get(url).await?.failure_for_status()?;
    Ok(response.text().await?)
}
```

`failure_for_status` stands in place of reqwest's `error_for_status`, which loses `Retry-After`. The
URL of an error is taken out, for it may hold a token.
"#
)]
//! # Reports without a feature
//!
//! Without the feature, an `anyhow::Error` or an `eyre::Report` becomes a boxed error of an unknown
//! type. [`or_failure`](OrFailure::or_failure) then sees its sources, and not the error that it was
//! made of. So take a `Failure` out first:
//!
//! ```
//! # use mcp_resilience::{Failure, Class};
//! fn price() -> anyhow::Result<u32> {
//!     Err(Failure::not_found("no such book").into())
//! }
//!
//! fn tool() -> Result<u32, Failure> {
//!     price().map_err(|error| error.downcast().unwrap_or_else(Failure::crash))
//! }
//!
//! assert_eq!(tool().unwrap_err().class(), Class::NotFound);
//! ```

#[cfg(any(feature = "anyhow", feature = "eyre", feature = "reqwest"))]
mod errors;
#[cfg(feature = "http")]
mod http;
mod or_failure;

#[cfg(feature = "http")]
pub use self::http::ResponseExt;
pub use self::or_failure::OrFailure;
pub use crate::failure::IntoFailure;
