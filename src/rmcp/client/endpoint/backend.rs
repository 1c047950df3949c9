//! The HTTP requests of rmcp's transport.

use super::{
    HttpError, answer, body,
    credentials::Credentials,
    error::HttpRefusal,
    events::{self, Events},
    get::{Get, Headers, Result},
    headers::{BOTH, EVENTS, SESSION_ID, has_type, header},
    known::Known,
    refused::{refusal, retry_after_of},
    standing,
};
use crate::{
    classify::retry_after,
    failure::RpcError,
    rmcp::client::wire::{Asked, Unreadable},
};
use ::http::{
    StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use ::rmcp::{
    ErrorData,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, RequestId, ServerJsonRpcMessage,
    },
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use std::sync::{Arc, atomic::Ordering::Relaxed};

const JSON: &str = "application/json";

#[derive(Clone, Debug)]
pub(in crate::rmcp::client) struct Backend {
    client: reqwest::Client,
    credentials: Option<Credentials>,
    known: Known,
}

impl Backend {
    pub(in crate::rmcp::client) fn new(
        client: reqwest::Client,
        credentials: Option<Credentials>,
        known: Known,
    ) -> Self {
        Self {
            client,
            credentials,
            known,
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
            credentials: self.credentials.clone(),
            renews: true,
        }
    }

    async fn post(
        &self,
        get: &Get,
        message: &ClientJsonRpcMessage,
    ) -> Result<StreamableHttpPostResponse> {
        let body = serde_json::to_vec(message)?;
        let own = [(ACCEPT, BOTH), (CONTENT_TYPE, JSON)];
        let post = self.client.post(&*get.uri).body(body);
        let response = get.send(post, &own).await?;
        let status = response.status();
        if !status.is_success() {
            let refusal = refusal(response, get.session.is_some()).await;
            return match legacy(message, &refusal) {
                Some(error) => Ok(StreamableHttpPostResponse::Json(error, None)),
                None => Err(refusal.into()),
            };
        }
        // Any answer to a notification means that the server accepted it.
        let Some(asked) = Asked::of(message) else {
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        let session = header(&response, &SESSION_ID);
        let retry_after = retry_after_of(&response);
        if let ClientJsonRpcMessage::Request(asked) = message
            && let Some(wait) = retry_after.as_deref().and_then(retry_after::in_header)
        {
            self.known.incoming.asked_to_wait(&asked.request, wait);
        }
        if has_type(&response, EVENTS) {
            let opened = body::open(response);
            let unread = self.known.unread.clone();
            let events = events::of_answer(opened, get.clone(), asked, unread);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let mut messages = if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            match answer::accepted(response, &asked).await {
                Some(messages) => messages,
                None if get.session.is_some() && self.known.may_push.load(Relaxed) => {
                    return Ok(StreamableHttpPostResponse::Accepted);
                }
                None => vec![not_answered(status).answer(&asked)],
            }
        } else {
            // A message with the id of the request is its answer, for any content type.
            let is_json = has_type(&response, JSON);
            answer::messages(response, is_json, &asked, &self.known.unread).await?
        };
        if let (Some(retry_after), [answer]) = (retry_after, &messages[..])
            && let Some(error) = call_error(message, answer)
            && retry_after::in_header(&retry_after).is_some()
        {
            // The error has the wait.
            return Err(HttpError::Status(Box::new(HttpRefusal {
                error: Some(error),
                had_session: get.session.is_some(),
                ..HttpRefusal::new(status, Some(retry_after))
            }))
            .into());
        }
        Ok(match (messages.pop(), messages.is_empty()) {
            (Some(answer), true) => StreamableHttpPostResponse::Json(answer, session),
            (answer, _) => {
                messages.extend(answer);
                StreamableHttpPostResponse::Sse(events::of_messages(messages), session)
            }
        })
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
        if let Some(id) = &session_id {
            self.known.session.get_or_init(|| Arc::clone(id));
        }
        if may_bring_more(&message) {
            // Over before, unless the request came past the limits that are around a connection.
            self.known.opening.wait().await;
        }
        let get = self.get(uri, session_id, auth_header, custom_headers);
        let posted = self.post(&get, &message).await;
        let is_last_of_handshake = matches!(
            &message,
            ClientJsonRpcMessage::Notification(sent)
                if matches!(sent.notification, ClientNotification::InitializedNotification(_))
        );
        match posted {
            Err(StreamableHttpError::Client(error)) if is_last_of_handshake => {
                self.known.refused(error);
                Err(StreamableHttpError::TransportChannelClosed)
            }
            posted => {
                if is_last_of_handshake && get.session.is_some() {
                    self.known.opening.begin();
                }
                posted
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<()> {
        let get = self.get(uri, Some(session_id), auth_header, custom_headers);
        // The session is over, for any answer of the server.
        get.send(self.client.delete(&*get.uri), &[]).await?;
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
        let opened = get.events(last_event_id).await;
        self.known.opening.end();
        if let Err(error @ StreamableHttpError::ServerDoesNotSupportSse) = opened {
            self.known.may_push.store(false, Relaxed);
            return Err(error);
        }
        Ok(standing::of(opened, get, self.known.unread.clone()))
    }
}

/// Whether the server may say more than the answer, on the standing stream.
fn may_bring_more(message: &ClientJsonRpcMessage) -> bool {
    matches!(
        message,
        ClientJsonRpcMessage::Request(asked) if !matches!(
            asked.request,
            ClientRequest::InitializeRequest(_)
                | ClientRequest::DiscoverRequest(_)
                | ClientRequest::PingRequest(_)
                | ClientRequest::ListToolsRequest(_)
                | ClientRequest::ListPromptsRequest(_)
                | ClientRequest::ListResourcesRequest(_)
                | ClientRequest::ListResourceTemplatesRequest(_)
        )
    )
}

fn not_answered(status: StatusCode) -> Unreadable {
    let reason = format!("the status {} has no answer with it", status.as_u16());
    Unreadable::new(reason, "")
}

/// The error that answers a call. The handshake reads its errors elsewhere.
fn call_error(message: &ClientJsonRpcMessage, answer: &ServerJsonRpcMessage) -> Option<RpcError> {
    let (ClientJsonRpcMessage::Request(request), ServerJsonRpcMessage::Error(answer)) =
        (message, answer)
    else {
        return None;
    };
    let is_handshake = matches!(
        request.request,
        ClientRequest::DiscoverRequest(_) | ClientRequest::InitializeRequest(_)
    );
    let error = &answer.error;
    (!is_handshake && Unreadable::in_error(error).is_none())
        .then(|| RpcError::new(error.code.0, error.message.clone(), error.data.clone()))
}

/// A server before `server/discover` may refuse that as a whole. rmcp falls back if the refusal has
/// the request's id.
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
