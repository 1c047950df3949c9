use super::{ClientCall, Request, errors, traffic::Traffic};
use crate::{
    call::{Method, ToolCall},
    failure::Failure,
};
use ::tower_mcp::{McpClient, protocol::McpResponse};
use serde_json::{Value, json};
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{runtime::Handle, sync::watch, time::timeout};
use tower::Service;

/// How long an unused connection may take to close. A child process is killed before.
const GOODBYE: Duration = Duration::from_secs(8);

/// One connection to a server, made by [`Connector`](super::Connector).
///
/// It is ready until its client is known to be closed. A dropped call is cancelled at the server. The
/// connection is closed in the background when its last clone is dropped.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

struct Inner {
    // Taken when the connection is dropped.
    client: Option<McpClient>,
    traffic: Traffic,
    open: Open,
}

impl Connection {
    pub(super) fn new(client: McpClient, traffic: Traffic, open: &InFlight) -> Self {
        Self {
            inner: Arc::new(Inner {
                client: Some(client),
                traffic,
                open: open.open(),
            }),
        }
    }

    /// tower-mcp's client without any layer: a request on it has no limit, is not logged and not
    /// repeated.
    ///
    /// # Panics
    ///
    /// Never: it is there as long as the connection is.
    #[must_use]
    pub fn client(&self) -> &McpClient {
        self.inner
            .client
            .as_ref()
            .expect("open until it is dropped")
    }

    /// Asks the server whether it is alive.
    pub(super) async fn ping(&self) -> Result<(), Failure> {
        let pong = self.client().ping().await;
        pong.map_err(|error| errors::of_request(error, true))
    }

    async fn send(self, call: ClientCall) -> Result<McpResponse, Failure> {
        let ticker = call.progress().map(crate::call::Progress::ticker);
        let method = call.method();
        let unsendable = |error: serde_json::Error| {
            Failure::invalid_input("arguments", &error.to_string()).not_sent()
        };
        let mut params = call.request().params().map_err(unsendable)?;
        let token = token(&mut params, &self.inner.traffic);
        let followed = self.inner.traffic.follow(&token, ticker);
        let answer = self.client().request(name(method), &params).await;
        let answer: Value =
            answer.map_err(|error| errors::of_request(error, followed.is_sent()))?;
        Request::answer(method, answer).map_err(|error| errors::unreadable(error.to_string()))
    }
}

/// The token in the parameters: the caller's own, or a new one.
fn token(params: &mut Value, traffic: &Traffic) -> Value {
    let Some(params) = params.as_object_mut() else {
        return Value::Null;
    };
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    match meta.as_object_mut() {
        Some(meta) => {
            let token = meta.entry("progressToken");
            token.or_insert_with(|| traffic.token()).clone()
        }
        None => Value::Null,
    }
}

fn name(method: Method) -> &'static str {
    method.as_str()
}

impl Service<ClientCall> for Connection {
    type Response = McpResponse;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<McpResponse, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(if self.client().is_connected() {
            Ok(())
        } else {
            Err(Failure::connection("the connection to the tool server is closed").not_sent())
        })
    }

    fn call(&mut self, call: ClientCall) -> Self::Future {
        Box::pin(self.clone().send(call))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else {
            return;
        };
        let open = Arc::clone(&self.open);
        // Without a runtime tower-mcp kills a child by itself.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                // In time or not: it is gone.
                let _ = timeout(GOODBYE, client.shutdown()).await;
                drop(open);
            });
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("is_connected", &self.client().is_connected())
            .finish_non_exhaustive()
    }
}

/// How many connections of one client are open.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight(Arc<watch::Sender<()>>);

/// One that is.
type Open = Arc<watch::Receiver<()>>;

impl InFlight {
    fn open(&self) -> Open {
        Arc::new(self.0.subscribe())
    }

    /// Waits until none is open.
    pub(super) async fn none(&self) {
        self.0.closed().await;
    }
}
