use super::{
    Catalog, ClientCall,
    abandoned::KeyedCall,
    errors,
    in_flight::{InFlight, Member},
    lister::{Lister, Pauses},
    opening::Opened,
    running::{Input, Running},
    transport_parts::TransportParts,
    waiting,
};
use crate::{
    classify::Session,
    failure::{Class, Failure, meanwhile},
    rmcp::{Answer, Request, capability::Honoured},
    telemetry,
};
use ::rmcp::{
    ClientHandler, Peer, RoleClient,
    model::{ClientRequest, InputRequiredResult, PingRequest, ServerResult},
    service::{RunningService, ServiceError},
};
use std::{
    fmt,
    future::{poll_fn, ready},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{runtime::Handle, task::JoinSet, time};
use tower::Service;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// One connection to a server, made by a connector.
///
/// It is ready until the transport is known to be closed. In a new session over HTTP, it is ready once
/// the stream for messages of the server's own is open or refused, or after 500 ms.
///
/// Every call has its own request id. A call that is dropped, or takes longer than the connector's
/// `call_timeout`, is cancelled at the server by `notifications/cancelled`. Without a `call_timeout`, only the attempt timeout of
/// [`ResilienceLayer`](crate::ResilienceLayer) limits a call. The connection is closed in the
/// background when its last clone is dropped and its last call has ended.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
    opened: Opened,
}

pub(super) struct Inner {
    peer: Peer<RoleClient>,
    parts: TransportParts,
    // The server's idempotency capability.
    honoured: Option<Honoured>,
    call_timeout: Option<Duration>,
    // Whether the server has answered a ping on this connection.
    answers_ping: Arc<AtomicBool>,
    // Taken when the connection is dropped, with the last call on it.
    running: Option<(Box<dyn Running>, Member)>,
    lister: Lister,
    // Reads the list of tools after a change, and pings in a new session.
    _tasks: JoinSet<()>,
}

impl Inner {
    pub(super) fn new<H: ClientHandler>(
        running: RunningService<RoleClient, H>,
        parts: TransportParts,
        call_timeout: Option<Duration>,
        in_flight: &InFlight,
        lister: Lister,
        pauses: Pauses,
    ) -> Self {
        let peer = running.peer().clone();
        let answers_ping = Arc::<AtomicBool>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(lister.clone().keep(pauses));
        // Only a server that answers pings can say by a refused one that the session is lost.
        if parts.session_id().is_some() {
            let (peer, is_answered) = (peer.clone(), Arc::clone(&answers_ping));
            tasks.spawn(async move {
                // A failure of this connection is noticed elsewhere.
                let _ = ping(&peer, &is_answered).await;
            });
        }
        Self {
            peer,
            parts,
            honoured: lister.catalog().honoured(),
            call_timeout,
            answers_ping,
            running: Some((Box::new(running), in_flight.open())),
            lister,
            _tasks: tasks,
        }
    }

    fn session(&self) -> Session {
        match self.parts.session_id() {
            Some(_) => Session::Untold,
            None => Session::None,
        }
    }

    async fn send(&self, request: Request, keyed: Option<KeyedCall>) -> Result<Answer, Failure> {
        if let (Request::Tool(params), Some(keyed)) = (&request, &keyed) {
            let (peer, params) = (self.peer.clone(), params.clone());
            let sent = async move { peer.call_tool_once(params).await.map(Answer::Tool) };
            let answer = keyed.attempt(Box::pin(sent));
            return self.ask(self.call_timeout, "call_timeout", answer).await;
        }
        // If it is dropped before the end, it cancels the call at the server.
        let answer = async {
            match request {
                Request::Tool(params) => self.peer.call_tool_once(params).await.map(Answer::Tool),
                Request::Resource(params) => {
                    let answer = self.peer.read_resource_once(params).await;
                    answer.map(Answer::Resource)
                }
                Request::Prompt(params) => {
                    let answer = self.peer.get_prompt_once(params).await;
                    answer.map(Answer::Prompt)
                }
            }
        };
        self.ask(self.call_timeout, "call_timeout", answer).await
    }

    /// Waits for the answer to a request, up to a limit of this name, and classifies its error.
    async fn ask<T>(
        &self,
        limit: Option<Duration>,
        setting: &str,
        answer: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, Failure> {
        if self.peer.is_transport_closed() {
            return Err(self.gone());
        }
        let unread = self.parts.unread.count();
        // An outer limit may end this first.
        let mut answer = pin!(answer);
        let answer = poll_fn(|cx| {
            let polled = answer.as_mut().poll(cx);
            if polled.is_pending() {
                let skipped = self.parts.unread.since(unread);
                meanwhile::leave(skipped.map(|skipped| Arc::new(skipped) as _));
            }
            polled
        });
        let answer = match limit {
            None => Ok(answer.await),
            Some(limit) => time::timeout(limit, answer).await.map_err(|elapsed| {
                let failure = errors::too_late(&format!("no answer within {limit:?}"), setting);
                match self.parts.unread.since(unread) {
                    Some(skipped) => failure.because(skipped),
                    None => failure.because(elapsed),
                }
            }),
        };
        let error = match answer? {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let failure = errors::of_call(error, self.session());
        let is_lost = failure.class() == Class::Connection && failure.rpc_error().is_none();
        let failure = match &self.parts.process {
            Some(process) if is_lost => process.explain(failure).await,
            _ => failure,
        };
        Err(match self.parts.unread.since(unread) {
            Some(skipped) if is_lost => {
                let source = failure.shared_source();
                failure.because(skipped.because(source))
            }
            _ => failure,
        })
    }

    /// The failure of a call that is too late.
    fn gone(&self) -> Failure {
        let failure = Failure::connection("the connection to the tool server is closed").not_sent();
        match &self.parts.process {
            Some(process) => process.explain_now(failure),
            None => failure,
        }
    }
}

impl Connection {
    /// rmcp's peer.
    ///
    /// A request on it passes no layer: it has no limit, is not logged, not repeated, and its failure
    /// does not replace the connection. Use [`Client::with_peer`](super::Client::with_peer) for that.
    #[must_use]
    pub fn peer(&self) -> &Peer<RoleClient> {
        &self.inner.peer
    }

    /// Asks the server whether it is alive. An error of the server counts as alive; see
    /// [`Probe`](crate::reconnect::Probe). A refusal that may be about the session puts it in doubt only
    /// if the server has answered a ping on this connection before: it may be the ping that the server
    /// refuses. So a client pings once in each new session.
    pub(super) async fn probe(&self) -> Result<(), Failure> {
        let answer = self.ping().await;
        answer.map(drop).map_err(|error| {
            let mut failure = errors::of_call(error, self.inner.session());
            if !self.inner.answers_ping.load(Relaxed) {
                failure.trust_session();
            }
            failure
        })
    }

    pub(super) async fn ping(&self) -> Result<ServerResult, ServiceError> {
        ping(&self.inner.peer, &self.inner.answers_ping).await
    }

    /// The catalog of the server's tools: that of the client, or one for this connection if its
    /// connector is used without a client.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        self.inner.lister.catalog()
    }

    /// Waits for the standing stream of a new session.
    pub(super) async fn opened(&self) {
        self.inner.parts.opening.wait().await;
    }

    /// Waits for the answer to a request on [`peer`](Self::peer), for at most this time.
    pub(super) async fn ask<T>(
        &self,
        limit: Duration,
        answer: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, Failure> {
        self.inner.ask(Some(limit), "request_timeout", answer).await
    }

    /// Asks the handler for the input that a server requires.
    pub(super) async fn give_input(
        &self,
        required: InputRequiredResult,
        empty_rounds: u32,
    ) -> Result<Input, Failure> {
        match &self.inner.running {
            Some((running, _)) => running.give(required, empty_rounds).await,
            None => Err(self.inner.gone()),
        }
    }

    /// Reads the list of tools into the catalog.
    pub(super) async fn list_tools(&self, limit: Duration) -> Result<(), Failure> {
        if self.inner.peer.is_transport_closed() {
            return Err(self.inner.gone());
        }
        self.inner.lister.read(limit, Some("request_timeout")).await
    }

    /// The id of the server's process, if it is a running child.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.inner.parts.process.as_ref()?.id()
    }
}

impl From<Inner> for Connection {
    fn from(inner: Inner) -> Self {
        Self {
            inner: Arc::new(inner),
            opened: Opened::default(),
        }
    }
}

impl Service<ClientCall> for Connection {
    type Response = Answer;
    type Error = Failure;
    type Future = BoxFuture<Result<Answer, Failure>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if self.inner.peer.is_transport_closed() {
            return Poll::Ready(Err(self.inner.gone()));
        }
        // Here, and not in the call, whose limits have no part in it.
        self.opened.poll(&self.inner.parts.opening, cx).map(Ok)
    }

    fn call(&mut self, mut call: ClientCall) -> Self::Future {
        let inner = Arc::clone(&self.inner);
        if let Err(failure) = call.begin(inner.honoured.as_ref()) {
            return Box::pin(ready(Err(failure)));
        }
        // The span of the attempt.
        telemetry::sent(&inner.parts.route, inner.parts.session_id());
        #[cfg(feature = "otel")]
        call.inject_context();
        // Here, since the ticker belongs to the new attempt.
        let listening = call.listen(&inner.parts.incoming);
        Box::pin(async move {
            let (keyed, sent) = (call.keyed().cloned(), call.sent(inner.honoured.as_ref()));
            let answer = inner.send(call.into_request(), keyed).await;
            sent.answered(&answer);
            match listening.wait() {
                Some(wait) => waiting::after(answer, wait),
                None => answer,
            }
        })
    }
}

/// Pings, and notes that there was an answer. An error of the server is one too.
async fn ping(
    peer: &Peer<RoleClient>,
    is_answered: &AtomicBool,
) -> Result<ServerResult, ServiceError> {
    let ping = ClientRequest::PingRequest(PingRequest::default());
    let answer = peer.send_request(ping).await;
    if let Ok(_) | Err(ServiceError::McpError(_)) = &answer {
        is_answered.store(true, Relaxed);
    }
    answer
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Without a runtime, rmcp's own guard remains.
        if let Ok(runtime) = Handle::try_current()
            && let Some((running, open)) = self.running.take()
        {
            runtime.spawn(async move {
                running.close().await;
                drop(open);
            });
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("call_timeout", &self.inner.call_timeout)
            .field("process_id", &self.process_id())
            .finish_non_exhaustive()
    }
}
