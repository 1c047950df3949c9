//! Servers over streamable HTTP.

use super::{
    Connection,
    connector::{dials, settings_of},
    dial::dial,
    endpoint::{Backend, Challenge, Credentials, Known, Source},
    settings::Settings,
    transport_parts::TransportParts,
};
use crate::{
    call::{Route, Side, Transport},
    failure::{BoxError, Failure},
};
use ::http::{HeaderName, HeaderValue};
use ::rmcp::{
    ClientHandler,
    transport::{
        StreamableHttpClientTransport, common::client_side_sse::NeverRetry,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use reqwest::redirect::{Action, Attempt, Policy};
use std::{collections::HashMap, fmt, sync::Arc};
use tower::Service;

type Build = Arc<dyn Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync>;

/// The limit of concurrent calls. For a limit of yours, put a layer around the connection.
const CALLS: usize = 4096;

/// Connects to a server over streamable HTTP.
///
/// rmcp's own repeats are off: a lost session is a failure of the call, and a new session is a new
/// connection.
///
/// A broken stream is resumed by `GET`, which runs nothing, if the server gave it event ids. If it
/// cannot be resumed, the call fails at once. The stream for messages of the server's own is opened
/// again as long as the connection lives, after pauses from 1 s to 30 s, unless the server has none.
/// No stream is opened earlier than the server asked, by `retry` or by `Retry-After`. All requests of a
/// session but pings and lists wait for it first, for up to 500 ms, outside of their own limits.
///
/// If the URL begins with `https`, one of reqwest's TLS features is needed; `rmcp-client-https` turns
/// one on.
///
/// | Setting | Default |
/// |---|---|
/// | [`start_timeout`](Self::start_timeout): the handshake and the list of tools | 10 s |
/// | [`call_timeout`](Self::call_timeout): one call | none: the layers around it have one |
/// | [`lifecycle`](Self::lifecycle) | `initialize` |
/// | [`client`](Self::client) | reqwest's own, a new one for each connection |
///
/// # What a status means
///
/// | | [Class](crate::Class) | [Delivery](crate::Delivery) |
/// |---|---|---|
/// | nothing listens, no such host | `Connection` | not sent |
/// | the connection broke later | `Connection` | unknown |
/// | any 4xx, or a JSON-RPC error with a status 2xx, with the text of an SDK for a lost session, on a connection that has one | `SessionLost` | refused |
/// | 404 or 410 without such a text, on a connection that has a session | `SessionLost` | unknown |
/// | 401, 403 | `Unauthorized`, `Forbidden` | refused |
/// | 408 with a `Retry-After`: the request did not arrive (RFC 9110, section 15.5.9) | `Timeout` | refused |
/// | 408 without: servers with a slow handler send it too | `Timeout` | unknown |
/// | 429 | `RateLimited`, or what a code in the body says | refused |
/// | 503 with a `Retry-After`, or a code in the body that is a refusal | `Unavailable`, or what a code in the body says | refused |
/// | 503 without: a proxy that lost the request sends it too | `Unavailable` | unknown |
/// | a redirect to another server, or to a GET | `Disabled` | unknown |
/// | any other with a JSON-RPC error | what the error means; with a 5xx, never a lost session | |
/// | any other 4xx | `InvalidInput`; `NotFound` for 404 and 410 | unknown |
/// | any other 5xx | `Upstream`, or what a code in the body says | unknown; for 502, 504 and 52x whatever the body says, unless it is JSON-RPC |
/// | a complete answer that is not JSON or not an MCP message | `InvalidOutput` | executed |
///
/// The wait is the longest of all `Retry-After` lines and of the body, which may be any JSON. For a
/// JSON-RPC error -32023, only its `retryAfterMs` counts. A `Retry-After` beside a status 200 is the
/// wait of an error or a flagged result in the body. It never permits a repeat.
///
/// Most of these 4xx, a 500, and any 5xx with such a text leave open whether the session is lost. If
/// the server has answered the `ping` after the dial, another one tells.
///
/// An answer without an id belongs to its request, since there is no other. A complete body or stream
/// without a readable answer, or with the answer to another request, is `InvalidOutput`, executed. So
/// is a status 202 or 204 without an answer, if no other stream can bring it. A body or stream that
/// breaks off before the end of its answer loses the call: `Connection`, unknown.
///
/// ```no_run
/// use mcp_resilience::rmcp::client::{Client, Http};
/// use std::time::Duration;
///
/// # async fn run() -> Result<(), mcp_resilience::Failure> {
/// let server = Http::new("http://127.0.0.1:8000/mcp")
///     .bearer("token")
///     .header("x-tenant", "books")
///     .start_timeout(Duration::from_secs(5));
/// let client = Client::connect(server).await?;
/// # let _ = client;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a connector does nothing until a client gets it"]
pub struct Http<H = ()> {
    url: Arc<str>,
    client: Option<reqwest::Client>,
    build: Option<Build>,
    bearer: Option<String>,
    credentials: Option<Source>,
    headers: HashMap<HeaderName, HeaderValue>,
    has_wrong_header: bool,
    settings: Settings<H>,
}

impl Http {
    /// Connects to this URL, such as `http://127.0.0.1:8080/mcp`. An invalid URL fails the dial.
    pub fn new(url: impl Into<Arc<str>>) -> Self {
        Self {
            url: url.into(),
            client: None,
            build: None,
            bearer: None,
            credentials: None,
            headers: HashMap::new(),
            has_wrong_header: false,
            settings: Settings::default(),
        }
    }
}

impl<H> Http<H> {
    /// Sets the token of the `Authorization` header, without `Bearer `.
    pub fn bearer(mut self, token: impl Into<String>) -> Self {
        self.bearer = Some(token.into());
        self
    }

    /// Sets a source for the token of the `Authorization` header, without `Bearer `. It is asked at
    /// every dial, and may return `None` until the server asks for a token. It is asked again with the
    /// [`Challenge`] if the server answers 401, or 403 because of the scope. It wins over
    /// [`bearer`](Self::bearer).
    ///
    /// The refused request is then sent once more, since the server did not run it. Requests that are
    /// refused at the same time share one question. The source may take as long as the
    /// [`start_timeout`](Self::start_timeout).
    ///
    /// If the source fails, panics or takes too long, the dial fails. Later, the request fails with
    /// the server's refusal, and there is a warning. [`Challenge::of_failure`] reads the challenge.
    ///
    /// A client of OAuth such as rmcp's `AuthorizationManager` belongs here: the example
    /// `conformance_client` shows it.
    ///
    /// ```no_run
    /// use mcp_resilience::rmcp::client::{Challenge, Http};
    ///
    /// # async fn token_for(scope: Option<String>) -> std::io::Result<String> { Ok(String::new()) }
    /// let server = Http::new("https://tools.example/mcp").credentials(|challenge: Option<Challenge>| {
    ///     let scope = challenge.and_then(|challenge| challenge.param("scope"));
    ///     token_for(scope)
    /// });
    /// # let _ = server;
    /// ```
    pub fn credentials<F, Fut, T, E>(mut self, source: F) -> Self
    where
        F: Fn(Option<Challenge>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: Into<Option<String>>,
        E: Into<BoxError>,
    {
        self.credentials = Some(Source::new(source));
        self
    }

    /// Adds a header to every request. An invalid header fails the dial as `Disabled`.
    pub fn header(
        mut self,
        name: impl TryInto<HeaderName>,
        value: impl TryInto<HeaderValue>,
    ) -> Self {
        match (name.try_into(), value.try_into()) {
            (Ok(name), Ok(value)) => {
                self.headers.insert(name, value);
            }
            _ => self.has_wrong_header = true,
        }
        self
    }

    /// Changes how the HTTP client of each connection is built: a proxy, certificates, limits of
    /// time. The redirect policy stays that of this crate, which follows 307 and 308 to the same
    /// server.
    pub fn client_builder(
        mut self,
        build: impl Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        self.build = Some(Arc::new(build));
        self
    }

    /// Sets one HTTP client for all connections. Default: a new one for each.
    ///
    /// Prefer [`client_builder`](Self::client_builder). This client needs a [redirect
    /// policy](reqwest::redirect::Policy) of your own: reqwest's default follows a redirect to any
    /// server, with headers, session and arguments. The default here follows 307 and 308 to the same
    /// server.
    pub fn client(mut self, client: reqwest::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// The handler of the server's own requests. Each connection gets a clone.
    pub fn handler<N: ClientHandler + Clone>(self, handler: N) -> Http<N> {
        Http {
            url: self.url,
            client: self.client,
            build: self.build,
            bearer: self.bearer,
            credentials: self.credentials,
            headers: self.headers,
            has_wrong_header: self.has_wrong_header,
            settings: self.settings.with_handler(handler),
        }
    }

    fn build_client(&self) -> reqwest::Result<reqwest::Client> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let builder = reqwest::Client::builder().connect_timeout(self.settings.start_timeout);
        let builder = match &self.build {
            Some(build) => build(builder),
            None => builder,
        };
        builder.redirect(Policy::custom(redirect)).build()
    }

    /// Host and port only: path and query may hold a token.
    fn route(&self) -> Route {
        let route = Route::new(Side::Client).with_transport(Transport::Tcp);
        let url = reqwest::Url::parse(&self.url).ok();
        match url.as_ref().and_then(|url| Some((url, url.host_str()?))) {
            Some((url, host)) => route.with_server(host, url.port_or_known_default()),
            None => route,
        }
    }

    async fn transport(
        &self,
        known: Known,
    ) -> Result<StreamableHttpClientTransport<Backend>, Failure> {
        let url = reqwest::Url::parse(&self.url).map_err(|error| no_url().because(error))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(no_url());
        }
        if self.has_wrong_header {
            return Err(Failure::disabled("a header is invalid"));
        }
        let no_client = |error| Failure::disabled("cannot make an http client").because(error);
        let client = self.build_client().map_err(no_client)?;
        let credentials = match &self.credentials {
            Some(source) => {
                Some(Credentials::new(source.clone(), self.settings.start_timeout).await?)
            }
            None => None,
        };
        let mut config = StreamableHttpClientTransportConfig::with_uri(Arc::clone(&self.url))
            .max_concurrent_requests(CALLS)
            .reinit_on_expired_session(false)
            .custom_headers(self.headers.clone());
        // The backend opens streams again itself.
        config.retry_config = Arc::new(NeverRetry::default());
        config.auth_header.clone_from(&self.bearer);
        Ok(StreamableHttpClientTransport::with_client(
            Backend::new(client, credentials, known),
            config,
        ))
    }
}

/// The URL may hold a token.
fn no_url() -> Failure {
    Failure::disabled("the url of the tool server is not an http url")
}

/// Only if the same server asks for the same request at another place. Headers and arguments must not
/// go elsewhere, and a redirect to a GET may follow after the call has run.
fn redirect(attempt: Attempt<'_>) -> Action {
    let is_here = |url: &reqwest::Url| url.origin() == attempt.url().origin();
    let is_same = matches!(attempt.status().as_u16(), 307 | 308)
        && attempt.previous().len() < 5
        && attempt.previous().iter().all(is_here);
    if is_same {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

impl<H: ClientHandler + Clone> Http<H> {
    async fn dial(self) -> Result<Connection, Failure> {
        let settings = self.settings.clone();
        let shared = settings.shared();
        let known = Known::new(shared.opening());
        let parts = TransportParts {
            session: Some(Arc::clone(&known.session)),
            unread: known.unread.clone(),
            incoming: known.incoming.clone(),
            opening: known.opening.clone(),
            renews_token: self.credentials.is_some(),
            ..TransportParts::new(self.route())
        };
        let inner = dial(settings, &shared, parts, self.transport(known.clone())).await;
        Ok(inner.map_err(|failure| known.explain(failure))?.into())
    }
}

impl<H: ClientHandler + Clone> Service<()> for Http<H> {
    dials!(self => self.clone().dial());
}

settings_of!(Http);

/// Without token, headers and most of the URL, which may hold secrets.
impl<H> fmt::Debug for Http<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = reqwest::Url::parse(&self.url).ok();
        let origin = url.map(|url| url.origin().ascii_serialization());
        f.debug_struct("Http")
            .field("origin", &origin)
            .field("start_timeout", &self.settings.start_timeout)
            .field("call_timeout", &self.settings.call_timeout)
            .finish_non_exhaustive()
    }
}
