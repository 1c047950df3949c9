//! How rmcp's transport makes HTTP requests.
//!
//! Its own client loses the status, the `Retry-After` or the error of many an answer, and drops
//! errors without an id, so that the call hangs.

use super::{
    HttpError, answer,
    error::HttpRefusal,
    events::{self, Events, Opened},
    standing,
};
use crate::rmcp::client::wire::{Asked, Unread};
use ::http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use ::rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, ClientRequest, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use reqwest::{RequestBuilder, Response};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time;

/// The longest that a stream may take to begin: some servers send nothing before the first event.
const HEADERS: Duration = Duration::from_secs(120);

type Result<T> = std::result::Result<T, StreamableHttpError<HttpError>>;
type Headers = HashMap<HeaderName, HeaderValue>;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const BOTH: &str = "text/event-stream, application/json";

#[derive(Clone, Debug)]
pub(super) struct Backend {
    client: reqwest::Client,
    // Whether a request belonged to a session.
    has_session: Arc<AtomicBool>,
    unread: Unread,
}

/// Everything that the requests of one session have in common.
#[derive(Clone, Debug)]
pub(super) struct Get {
    client: reqwest::Client,
    uri: Arc<str>,
    session: Option<Arc<str>>,
    bearer: Option<String>,
    headers: Headers,
}

impl Backend {
    pub(super) fn new(
        client: reqwest::Client,
        has_session: Arc<AtomicBool>,
        unread: Unread,
    ) -> Self {
        Self {
            client,
            has_session,
            unread,
        }
    }

    fn get(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Get {
        Get {
            client: self.client.clone(),
            uri,
            session,
            bearer,
            headers,
        }
    }
}

impl Get {
    /// The transport's own headers win over the user's.
    fn with_headers(&self, request: RequestBuilder, own: &[(HeaderName, &str)]) -> RequestBuilder {
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

impl StreamableHttpClient for Backend {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse> {
        if session_id.is_some() {
            self.has_session.store(true, Relaxed);
        }
        let get = self.get(uri, session_id, auth_header, custom_headers);
        let asked = Asked::of(&message);
        let body = serde_json::to_vec(&message)?;
        let own = [(ACCEPT, BOTH), (CONTENT_TYPE, JSON)];
        let response = get
            .with_headers(self.client.post(&*get.uri), &own)
            .body(body)
            .send()
            .await
            .map_err(HttpError::from)?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !status.is_success() {
            let refusal = refusal(response, get.session.is_some()).await;
            return match legacy(&message, &refusal) {
                Some(error) => Ok(StreamableHttpPostResponse::Json(error, None)),
                None => Err(refusal.into()),
            };
        }
        let session = header(&response, &SESSION_ID);
        // Whatever a server says to a notification: it took it.
        let Some(asked) = asked else {
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        if has_type(&response, EVENTS) {
            let opened = events::of(response);
            let events = events::of_answer(opened, get, asked, self.unread.clone());
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        // Of whatever type it says it is: an answer with the id of the request is one.
        let is_json = has_type(&response, JSON);
        let mut messages = answer::messages(response, is_json, &asked, &self.unread).await?;
        Ok(match (messages.pop(), messages.is_empty()) {
            (Some(answer), true) => StreamableHttpPostResponse::Json(answer, session),
            (answer, _) => {
                messages.extend(answer);
                StreamableHttpPostResponse::Sse(events::of_messages(messages), session)
            }
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<()> {
        let get = self.get(uri, Some(session_id), auth_header, custom_headers);
        let request = get.with_headers(self.client.delete(&*get.uri), &[]);
        // Whatever the server thinks of that: the session is of no more use.
        request.send().await.map_err(HttpError::from)?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<Events> {
        let get = self.get(uri, session_id, auth_header, custom_headers);
        let opened = match get.events(last_event_id).await {
            Ok(opened) => Some(opened),
            Err(error @ StreamableHttpError::ServerDoesNotSupportSse) => return Err(error),
            Err(_) => None,
        };
        Ok(standing::of(opened, get, self.unread.clone()))
    }
}

/// What a server that never begins to answer is taken to say.
fn timed_out() -> HttpRefusal {
    HttpRefusal::new(StatusCode::REQUEST_TIMEOUT, None)
}

async fn refusal(response: Response, had_session: bool) -> HttpError {
    let status = response.status();
    // Of several lines HTTP makes one list.
    let lines = response.headers().get_all(RETRY_AFTER).iter();
    let lines: Vec<_> = lines.filter_map(|line| line.to_str().ok()).collect();
    let retry_after = (!lines.is_empty()).then(|| lines.join(", "));
    let www_authenticate = header(&response, &WWW_AUTHENTICATE);
    let said = answer::refusal(response).await;
    HttpError::Status(Box::new(HttpRefusal {
        www_authenticate,
        error: said.error,
        body: said.body,
        text: said.text,
        had_session,
        ..HttpRefusal::new(status, retry_after)
    }))
}

/// A server of before `server/discover` may refuse that as a whole; rmcp falls back when it is told
/// so under the request's id.
fn legacy(message: &ClientJsonRpcMessage, refusal: &HttpError) -> Option<ServerJsonRpcMessage> {
    let (ClientJsonRpcMessage::Request(request), HttpError::Status(refusal)) = (message, refusal)
    else {
        return None;
    };
    let is_legacy = matches!(request.request, ClientRequest::DiscoverRequest(_))
        && refusal.status.is_client_error()
        && !matches!(refusal.status.as_u16(), 401 | 403 | 408 | 429);
    if !is_legacy {
        return None;
    }
    let error = match &refusal.error {
        Some(error) => ErrorData::new(
            ::rmcp::model::ErrorCode(error.code),
            error.message.clone(),
            error.data.clone(),
        ),
        None => ErrorData::invalid_request(format!("http status {}", refusal.status), None),
    };
    let id: RequestId = request.id.clone();
    Some(ServerJsonRpcMessage::error(error, Some(id)))
}

fn header(response: &Response, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

fn has_type(response: &Response, expected: &str) -> bool {
    let Some(value) = header(response, &CONTENT_TYPE) else {
        return false;
    };
    let media_type = value.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case(expected)
}
