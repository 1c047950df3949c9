//! Tokens from a source of the user's, with one question for all requests.

use super::Challenge;
use crate::{
    failure::{BoxError, Failure},
    lock::Mutex,
};
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};
use tokio::time;

/// A token, or none, with a place, which distinguishes it from an equal one.
pub(super) type Token = Arc<Option<String>>;

type Answer = BoxFuture<'static, Result<Option<String>, BoxError>>;

type Asking = Shared<BoxFuture<'static, Result<Token, Arc<Failure>>>>;

/// The source of tokens: without a challenge at a dial, with one after a refusal.
#[derive(Clone)]
pub(in crate::rmcp::client) struct Source(Arc<dyn Fn(Option<Challenge>) -> Answer + Send + Sync>);

impl Source {
    pub(in crate::rmcp::client) fn new<F, Fut, T, E>(ask: F) -> Self
    where
        F: Fn(Option<Challenge>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: Into<Option<String>>,
        E: Into<BoxError>,
    {
        Self(Arc::new(move |challenge| {
            let asked = ask(challenge);
            Box::pin(async move { asked.await.map(Into::into).map_err(Into::into) })
        }))
    }

    /// Asks for a token, for at most this time. A challenge is not answered without one.
    async fn ask(self, challenge: Option<Challenge>, limit: Duration) -> Result<Token, Failure> {
        let needs_one = challenge.is_some();
        let refused = || Failure::unauthorized("the source of credentials returned none");
        let asked = catch_unwind(AssertUnwindSafe(|| (self.0)(challenge)));
        let Ok(asked) = asked else {
            return Err(Failure::unauthorized("the source of credentials panicked"));
        };
        match time::timeout(limit, AssertUnwindSafe(asked).catch_unwind()).await {
            Ok(Ok(Ok(None))) if needs_one => Err(refused()),
            Ok(Ok(Ok(token))) => Ok(Arc::new(token)),
            Ok(Ok(Err(error))) => Err(refused().because(error)),
            Ok(Err(_)) => Err(Failure::unauthorized("the source of credentials panicked")),
            Err(_) => Err(Failure::timeout(format!(
                "the source of credentials returned none within {limit:?}; to allow more, raise `start_timeout`"
            ))),
        }
    }
}

/// The token of one connection.
#[derive(Clone, Debug)]
pub(in crate::rmcp::client) struct Credentials(Arc<Inner>);

struct Inner {
    source: Source,
    limit: Duration,
    state: Mutex<State>,
}

struct State {
    token: Token,
    /// The question that all requests wait for.
    asking: Option<Asking>,
}

impl Credentials {
    /// Asks for the first token. The source has this time for each question.
    ///
    /// # Errors
    ///
    /// If the source fails, panics, or takes too long.
    pub(in crate::rmcp::client) async fn new(
        source: Source,
        limit: Duration,
    ) -> Result<Self, Failure> {
        let token = source.clone().ask(None, limit).await?;
        let state = Mutex::new(State {
            token,
            asking: None,
        });
        Ok(Self(Arc::new(Inner {
            source,
            limit,
            state,
        })))
    }

    pub(super) fn current(&self) -> Token {
        Arc::clone(&self.0.state.lock().token)
    }

    /// The next token after a refused one: that of another question, or a new one. Requests that ask
    /// at the same time share one question, which goes on as long as one of them waits.
    pub(super) async fn after(
        &self,
        refused: &Token,
        challenge: Challenge,
    ) -> Result<Token, Arc<Failure>> {
        let asking = {
            let mut state = self.0.state.lock();
            if !Arc::ptr_eq(&state.token, refused) {
                return Ok(Arc::clone(&state.token));
            }
            let new = || {
                let asked = self.0.source.clone().ask(Some(challenge), self.0.limit);
                asked.map(|asked| asked.map_err(Arc::new)).boxed().shared()
            };
            state.asking.get_or_insert_with(new).clone()
        };
        let answer = asking.clone().await;
        let mut state = self.0.state.lock();
        if state
            .asking
            .as_ref()
            .is_some_and(|other| other.ptr_eq(&asking))
        {
            state.asking = None;
            if let Ok(token) = &answer {
                state.token = Arc::clone(token);
            }
        }
        answer
    }
}

/// Without the token.
impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
