use ::tower_mcp::{
    McpRouter, RouterRequest,
    context::{CancellationToken, RequestContext},
    protocol::RequestId,
};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether the client has cancelled a call, in an attempt or between two.
///
/// A router knows a request while it handles it, and can cancel it only then. So each attempt runs
/// with the token of the call. While no attempt runs, a context of its own registers the call with
/// the router, with the same token.
pub(super) struct Cancellation {
    router: McpRouter,
    id: RequestId,
    token: CancellationToken,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    // Held to keep the call registered.
    waiting: Option<Box<RequestContext>>,
}

impl Cancellation {
    /// Takes the token of the transport, or gives the request one.
    pub(super) fn of(request: &mut RouterRequest, router: McpRouter) -> Self {
        let token = request.extensions.get::<CancellationToken>().cloned();
        let token = token.unwrap_or_else(|| {
            let token = CancellationToken::new();
            request.extensions.insert(token.clone());
            token
        });
        Self {
            router,
            id: request.id.clone(),
            token,
            state: Mutex::default(),
        }
    }

    /// The router that answers the call.
    pub(super) fn router(&self) -> &McpRouter {
        &self.router
    }

    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// The router knows the attempt itself, until the guard is dropped.
    pub(super) fn attempt(&self) -> Running<'_> {
        let mut state = self.state();
        state.running += 1;
        self.forget(&mut state);
        Running(self)
    }

    /// The call waits for a further attempt, or for its turn.
    pub(super) fn wait(&self) {
        let mut state = self.state();
        if state.running > 0 || state.waiting.is_some() {
            return;
        }
        // The router takes the token out of the extensions.
        let router = self.router.clone().with_extension(self.token.clone());
        let context = router.create_context(self.id.clone(), None);
        state.waiting = Some(Box::new(context));
    }

    fn forget(&self, state: &mut State) {
        if state.waiting.take().is_some() {
            self.router.complete_request(&self.id);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cancellation {
    fn drop(&mut self) {
        let mut state = std::mem::take(&mut *self.state());
        self.forget(&mut state);
    }
}

/// A running attempt.
pub(super) struct Running<'a>(&'a Cancellation);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.state().running -= 1;
    }
}
