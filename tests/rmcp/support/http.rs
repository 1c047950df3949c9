use reqwest::{Client, RequestBuilder, Response, StatusCode, header};
use std::time::Duration;

const SESSION: &str = "mcp-session-id";

/// Streamable HTTP by hand: one session with a server.
#[derive(Clone, Debug)]
pub(crate) struct HttpWire {
    client: Client,
    url: String,
    session: Option<String>,
}

/// The answer to one POST.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) status: StatusCode,
    pub(crate) messages: Vec<String>,
    /// The body, if it is not an event stream.
    pub(crate) body: String,
}

impl HttpWire {
    pub(crate) fn new(url: &str) -> Self {
        let client = Client::builder()
            .no_proxy()
            // A connection that the server is about to close would fail the next request.
            .pool_max_idle_per_host(0)
            .timeout(Duration::from_secs(300))
            .build()
            .unwrap();
        Self {
            client,
            url: url.to_owned(),
            session: None,
        }
    }

    /// Where the server listens, without the path.
    pub(crate) fn address(&self) -> &str {
        let address = self.url.trim_start_matches("http://");
        address.split('/').next().unwrap()
    }

    pub(crate) fn session(&self) -> &str {
        self.session.as_deref().unwrap()
    }

    /// The same server, in another session.
    pub(crate) fn in_session(&self, session: &str) -> Self {
        Self {
            session: Some(session.to_owned()),
            ..self.clone()
        }
    }

    /// Sends the first message, and keeps the session that it is given.
    pub(crate) async fn open(&mut self, initialize: String) -> Posted {
        let response = self.request(initialize).send().await.unwrap();
        let session = response.headers().get(SESSION).expect("a session");
        self.session = Some(session.to_str().unwrap().to_owned());
        read(response).await
    }

    /// Sends one message, and reads the whole answer.
    pub(crate) async fn post(&self, message: String) -> Posted {
        self.try_post(message).await.unwrap()
    }

    /// The same, where the server may be gone, or may not even read the message.
    pub(crate) async fn try_post(&self, message: String) -> reqwest::Result<Posted> {
        Ok(read(self.send(message).await?).await)
    }

    /// Sends one message with further headers, and reads the whole answer.
    pub(crate) async fn post_with(&self, message: String, headers: &[(&str, &str)]) -> Posted {
        let request = headers
            .iter()
            .fold(self.request(message), |request, (name, value)| {
                request.header(*name, *value)
            });
        read(request.send().await.unwrap()).await
    }

    /// Sends one message. Its answer is [`read`] later.
    pub(crate) async fn send(&self, message: String) -> reqwest::Result<Response> {
        self.request(message).send().await
    }

    /// Sends one message, and reads what comes for it bit by bit.
    pub(crate) async fn begin(&self, message: String) -> Events {
        let response = self.send(message).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Events {
            response,
            unread: Vec::new(),
        }
    }

    /// Opens the stream on which a server speaks unasked. It stays open while this is kept.
    pub(crate) async fn listen(&self) -> Response {
        let request = self.client.get(&self.url).header(SESSION, self.session());
        let request = request.header(header::ACCEPT, "text/event-stream");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response
    }

    fn request(&self, body: String) -> RequestBuilder {
        let request = self
            .client
            .post(&self.url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .body(body);
        match &self.session {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }
}

/// The messages of a stream, one by one.
pub(crate) struct Events {
    response: Response,
    unread: Vec<u8>,
}

impl Events {
    /// Reads a response, if it is a stream.
    pub(crate) fn of(response: Response) -> Result<Self, Box<Response>> {
        let kind = response.headers().get(header::CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if is_stream {
            let unread = Vec::new();
            Ok(Self { response, unread })
        } else {
            Err(Box::new(response))
        }
    }

    /// The next message, or none at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.unread.drain(..end + 2).collect();
                let message = events(&String::from_utf8(event).unwrap()).pop();
                if message.is_some() {
                    return message;
                }
            }
            let part = self.response.chunk().await.ok()??;
            self.unread.extend_from_slice(&part);
        }
    }
}

/// The whole content of a response.
pub(crate) async fn read(mut response: Response) -> Posted {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind.map_or("", |kind| kind.to_str().unwrap()).to_owned();
    let mut body = Vec::new();
    // A stream that breaks off has no more events. A missing answer fails the test later.
    while let Ok(Some(part)) = response.chunk().await {
        body.extend_from_slice(&part);
    }
    let body = String::from_utf8(body).unwrap();
    if kind.starts_with("text/event-stream") {
        Posted {
            status,
            messages: events(&body),
            body: String::new(),
        }
    } else if kind.starts_with("application/json") {
        Posted {
            status,
            messages: vec![body.clone()],
            body,
        }
    } else {
        Posted {
            status,
            messages: Vec::new(),
            body,
        }
    }
}

/// The data of the events; those without any only keep the stream alive.
fn events(body: &str) -> Vec<String> {
    body.split("\n\n")
        .map(|event| {
            let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
            lines.map(str::trim_start).collect::<Vec<_>>().join("\n")
        })
        .filter(|data| !data.is_empty())
        .collect()
}
