//! Streams of events, and what all requests of a session have in common.

use super::{
    Challenge, HttpError,
    body::{self, Opened},
    credentials::Credentials,
    error::HttpRefusal,
    headers::{BOTH, EVENTS, SESSION_ID, has_type},
    refused::refusal,
};
use ::http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT, AUTHORIZATION},
};
use ::rmcp::transport::streamable_http_client::StreamableHttpError;
use reqwest::{RequestBuilder, Response};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::time;

/// The longest start of a stream: some servers send nothing before the first event.
const HEADERS: Duration = Duration::from_secs(120);

pub(super) type Result<T> = std::result::Result<T, StreamableHttpError<HttpError>>;
pub(super) type Headers = HashMap<HeaderName, HeaderValue>;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The common state of a session's requests.
#[derive(Clone, Debug)]
pub(super) struct Get {
    pub(super) client: reqwest::Client,
    pub(super) uri: Arc<str>,
    pub(super) session: Option<Arc<str>>,
    pub(super) bearer: Option<String>,
    pub(super) headers: Headers,
    pub(super) credentials: Option<Credentials>,
    /// Whether a refusal asks the source of credentials.
    pub(super) renews: bool,
}

impl Get {
    /// Sends a request, and once more with another token if the server asks for one. The transport's
    /// own headers win over the user's.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
        own: &[(HeaderName, &str)],
    ) -> std::result::Result<Response, HttpError> {
        let request = request.headers(self.headers(own));
        let Some(credentials) = &self.credentials else {
            return Ok(with_token(request, self.bearer.as_deref()).send().await?);
        };
        let again = request.try_clone().filter(|_| self.renews);
        let token = credentials.current();
        let response = with_token(request, token.as_deref()).send().await?;
        // It refused the request as a whole, so nothing ran.
        let (Some(challenge), Some(again)) = (Challenge::of(&response), again) else {
            return Ok(response);
        };
        match credentials.after(&token, challenge).await {
            Ok(token) => Ok(with_token(again, token.as_deref()).send().await?),
            Err(failure) => {
                let failure = failure.duplicate();
                tracing::warn!(error = %failure.chain(), "no other credentials for the tool server");
                Ok(response)
            }
        }
    }

    fn headers(&self, own: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers: HeaderMap = self.headers.clone().into_iter().collect();
        let session = self.session.as_deref().map(|session| (SESSION_ID, session));
        for (name, value) in own.iter().cloned().chain(session) {
            // The value of a header fits into a header.
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
        if self.bearer.is_some() || self.credentials.is_some() {
            headers.remove(AUTHORIZATION);
        }
        headers
    }

    /// The stream of the session, or the rest of one.
    pub(super) async fn events(&self, after: Option<String>) -> Result<Opened> {
        let mut own = vec![(ACCEPT, BOTH)];
        own.extend(after.as_deref().map(|id| (LAST_EVENT_ID, id)));
        let sent = self.send(self.client.get(&*self.uri), &own);
        let response = match time::timeout(HEADERS, sent).await {
            Ok(response) => response?,
            Err(_) => return Err(HttpError::Status(Box::new(timed_out())).into()),
        };
        let status = response.status();
        // Asking again helps only if an old stream blocks the new one, the server has an error, or
        // the credentials are being renewed.
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
        Ok(body::open(response))
    }
}

fn with_token(request: RequestBuilder, token: Option<&str>) -> RequestBuilder {
    match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

/// The failure of a server that never begins to answer.
fn timed_out() -> HttpRefusal {
    HttpRefusal::new(StatusCode::REQUEST_TIMEOUT, None)
}
