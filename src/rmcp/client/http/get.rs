//! Streams of events, and what all requests of a session have in common.

use super::{
    HttpError,
    error::HttpRefusal,
    events::{self, Opened},
    refused::refusal,
};
use ::http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use ::rmcp::transport::streamable_http_client::StreamableHttpError;
use reqwest::{RequestBuilder, Response};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::time;

/// The longest that a stream may take to begin: some servers send nothing before the first event.
const HEADERS: Duration = Duration::from_secs(120);

pub(super) type Result<T> = std::result::Result<T, StreamableHttpError<HttpError>>;
pub(super) type Headers = HashMap<HeaderName, HeaderValue>;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const EVENTS: &str = "text/event-stream";
pub(super) const BOTH: &str = "text/event-stream, application/json";

/// Everything that the requests of one session have in common.
#[derive(Clone, Debug)]
pub(super) struct Get {
    pub(super) client: reqwest::Client,
    pub(super) uri: Arc<str>,
    pub(super) session: Option<Arc<str>>,
    pub(super) bearer: Option<String>,
    pub(super) headers: Headers,
}

impl Get {
    /// The transport's own headers win over the user's.
    pub(super) fn with_headers(
        &self,
        request: RequestBuilder,
        own: &[(HeaderName, &str)],
    ) -> RequestBuilder {
        let mut headers: HeaderMap = self.headers.clone().into_iter().collect();
        let session = self.session.as_deref().map(|session| (SESSION_ID, session));
        for (name, value) in own.iter().cloned().chain(session) {
            // What came in a header goes into one.
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
        if self.bearer.is_some() {
            headers.remove(AUTHORIZATION);
        }
        let request = request.headers(headers);
        match &self.bearer {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// The stream of the session, or the rest of one.
    pub(super) async fn events(&self, after: Option<String>) -> Result<Opened> {
        let mut own = vec![(ACCEPT, BOTH)];
        own.extend(after.as_deref().map(|id| (LAST_EVENT_ID, id)));
        let request = self.with_headers(self.client.get(&*self.uri), &own);
        let response = match time::timeout(HEADERS, request.send()).await {
            Ok(response) => response.map_err(HttpError::from)?,
            Err(_) => return Err(HttpError::Status(Box::new(timed_out())).into()),
        };
        let status = response.status();
        // Asking again would change nothing, unless an old stream is in the way, the server in trouble,
        // or the credentials about to be renewed.
        let may_change = matches!(status.as_u16(), 401 | 403 | 408 | 409 | 425 | 429);
        if status == StatusCode::NOT_IMPLEMENTED || status.is_client_error() && !may_change {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !status.is_success() {
            return Err(refusal(response, self.session.is_some()).await.into());
        }
        if !has_type(&response, EVENTS) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(events::of(response))
    }
}

/// What a server that never begins to answer is taken to say.
fn timed_out() -> HttpRefusal {
    HttpRefusal::new(StatusCode::REQUEST_TIMEOUT, None)
}

pub(super) fn header(response: &Response, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

pub(super) fn has_type(response: &Response, expected: &str) -> bool {
    let Some(value) = header(response, &CONTENT_TYPE) else {
        return false;
    };
    let media_type = value.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case(expected)
}
