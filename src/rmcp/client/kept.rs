//! State that a server loses with a connection, restored on the next.
#![expect(
    deprecated,
    reason = "MCP has deprecated the logging level, and servers still have it"
)]

use super::opening::Opening;
use crate::{
    failure::{BoxError, Failure},
    lock::Mutex,
};
use ::rmcp::{
    Peer, RoleClient,
    model::{SetLevelRequestParams, SubscribeRequestParams},
};
use std::{collections::BTreeMap, fmt, pin::Pin, sync::Arc, time::Duration};
use tokio::{
    task::JoinSet,
    time::{self, Instant, error::Elapsed},
};

/// A subscription is not restored in less time than this.
const SHORTEST: Duration = Duration::from_millis(10);

type Done = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// The user's hook for new connections.
#[derive(Clone)]
pub(super) struct OnConnect(Arc<dyn Fn(Peer<RoleClient>) -> Done + Send + Sync>);

impl OnConnect {
    pub(super) fn new<F, Fut, E>(run: F) -> Self
    where
        F: Fn(Peer<RoleClient>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        Self(Arc::new(move |peer| {
            let done = run(peer);
            Box::pin(async move { done.await.map_err(Into::into) })
        }))
    }
}

/// The subscriptions and the log level of one client.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Those that the server has confirmed, by their URIs.
    confirmed: BTreeMap<String, SubscribeRequestParams>,
    /// Those whose requests have no answer yet. There may be several for one URI.
    unanswered: Vec<Arc<SubscribeRequestParams>>,
    level: Option<SetLevelRequestParams>,
    on_connect: Option<OnConnect>,
}

impl Kept {
    pub(super) fn set_on_connect(&self, run: OnConnect) {
        self.0.lock().on_connect = Some(run);
    }

    /// Keeps a subscription as long as the server may still confirm it.
    pub(super) fn subscribe(&self, params: SubscribeRequestParams) -> Unanswered<'_> {
        let params = Arc::new(params);
        self.0.lock().unanswered.push(Arc::clone(&params));
        Unanswered { kept: self, params }
    }

    /// Removes a subscription, also if the server has not confirmed it yet.
    pub(super) fn unsubscribe(&self, uri: &str) {
        let mut state = self.0.lock();
        state.confirmed.remove(uri);
        state.unanswered.retain(|params| params.uri != uri);
    }

    pub(super) fn set_level(&self, params: SetLevelRequestParams) {
        self.0.lock().level = Some(params);
    }

    /// Restores all of it on a new connection, within this time, and then runs the user's hook. A
    /// failure is logged, and the connection is used.
    ///
    /// No request takes more than half of the time that is left, so that one that hangs leaves some
    /// for the rest. The first may wait for the standing stream, for half of its own time. Once almost
    /// nothing is left, the other subscriptions are left out.
    pub(super) async fn restore(
        &self,
        peer: &Peer<RoleClient>,
        opening: &Opening,
        limit: Duration,
    ) {
        let (subscriptions, level, on_connect) = {
            let state = self.0.lock();
            (
                state.subscriptions(),
                state.level.clone(),
                state.on_connect.clone(),
            )
        };
        if subscriptions.is_empty() && level.is_none() && on_connect.is_none() {
            return;
        }
        opening.end_within(limit / 4);
        let begun = Instant::now();
        let remains = || limit.saturating_sub(begun.elapsed());
        let mut subscriptions = subscriptions.into_iter();
        while remains() >= SHORTEST
            && let Some(params) = subscriptions.next()
        {
            let made = time::timeout(remains() / 2, peer.subscribe(params)).await;
            warn(made, "a subscription was not restored");
        }
        let left_out = subscriptions.len();
        if left_out > 0 {
            tracing::warn!(
                left_out = left_out as u64,
                "a new connection was not restored completely: there was no time for some \
                 subscriptions"
            );
        }
        if let Some(params) = level {
            let made = time::timeout(remains() / 2, peer.set_level(params)).await;
            warn(made, "the log level was not restored");
        }
        if let Some(OnConnect(run)) = on_connect {
            let peer = peer.clone();
            // In a task, so that a panic ends nothing else.
            let mut hook = JoinSet::new();
            hook.spawn(async move { run(peer).await });
            match time::timeout(remains(), hook.join_next()).await {
                Ok(Some(Ok(outcome))) => warn(Ok(outcome), "the on-connect hook failed"),
                Ok(Some(Err(error))) => {
                    warn(Ok(Err::<(), _>(error)), "the on-connect hook panicked");
                }
                Ok(None) => {}
                Err(elapsed) => {
                    let outcome = Err::<Result<(), BoxError>, _>(elapsed);
                    warn(outcome, "the on-connect hook did not end in time");
                }
            }
        }
    }
}

impl State {
    /// One for each URI.
    fn subscriptions(&self) -> Vec<SubscribeRequestParams> {
        let unanswered = self.unanswered.iter().map(|params| &**params);
        let all = unanswered.chain(self.confirmed.values());
        let all: BTreeMap<_, _> = all.map(|params| (&params.uri, params)).collect();
        all.into_values().cloned().collect()
    }

    /// The server has confirmed a request. Its subscription is kept, unless it was removed meanwhile.
    fn confirm(&mut self, request: &Arc<SubscribeRequestParams>) {
        if self.forget(request) {
            let params = (**request).clone();
            self.confirmed.insert(params.uri.clone(), params);
        }
    }

    /// Forgets a request. Returns whether it was still known.
    fn forget(&mut self, request: &Arc<SubscribeRequestParams>) -> bool {
        let before = self.unanswered.len();
        self.unanswered
            .retain(|params| !Arc::ptr_eq(params, request));
        self.unanswered.len() < before
    }
}

/// A request for a subscription that has no answer yet. It is forgotten when this is dropped.
#[must_use]
pub(super) struct Unanswered<'a> {
    kept: &'a Kept,
    params: Arc<SubscribeRequestParams>,
}

impl Unanswered<'_> {
    pub(super) fn confirm(self) {
        self.kept.0.lock().confirm(&self.params);
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.kept.0.lock().forget(&self.params);
    }
}

fn warn<T, E: Into<BoxError>>(outcome: Result<Result<T, E>, Elapsed>, what: &'static str) {
    let error = match outcome {
        Ok(Ok(_)) => return,
        Ok(Err(error)) => error.into(),
        Err(elapsed) => elapsed.into(),
    };
    let failure = Failure::connection(what).because(error);
    tracing::warn!(error = %failure.chain(), "a new connection was not restored completely");
}

impl fmt::Debug for OnConnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnConnect(..)")
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("subscriptions", &self.confirmed.len())
            .finish_non_exhaustive()
    }
}
