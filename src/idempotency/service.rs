use super::{
    Fingerprint, IdempotencyLayer, RecordId, ResponseFuture, StoredResult, failures, phase::Phase,
    round::Round, run::Run,
};
use crate::{
    call::{IdempotencyKey, Method, ToolCall},
    failure::{BoxError, Failure},
    is_error::Target,
};
use std::{
    mem,
    sync::Arc,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// Runs a call with a key once, and answers its repeats with the first answer.
///
/// See the [module page](super).
#[derive(Clone, Debug)]
pub struct Idempotency<S, M = IdempotencyLayer> {
    pub(super) inner: S,
    pub(super) mode: M,
}

/// Takes the place of [`IdempotencyLayer`] in a stack that ignores keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeys;

impl<S> Idempotency<S> {
    /// Keeps outcomes in the memory of the process, with the defaults.
    #[must_use]
    pub fn new(inner: S) -> Self {
        IdempotencyLayer::new().layer(inner)
    }
}

impl<S, M> Idempotency<S, M> {
    /// Wraps a service, with keys or without.
    pub(crate) fn with_mode(inner: S, mode: M) -> Self {
        Self { inner, mode }
    }

    inner_accessors!(inner);
}

impl Idempotency<()> {
    /// The layer, with the defaults.
    #[must_use]
    pub fn layer() -> IdempotencyLayer {
        IdempotencyLayer::new()
    }
}

impl<S, Req> Service<Req> for Idempotency<S, NoKeys>
where
    S: Service<Req, Error = Failure>,
{
    type Response = S::Response;
    type Error = Failure;
    type Future = S::Future;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.inner.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, call: Req) -> Self::Future {
        self.inner.call(call)
    }
}

impl<S, Req> Service<Req> for Idempotency<S>
where
    S: Service<Req> + Clone + Send + 'static,
    S::Response: StoredResult,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
    Req: ToolCall + Send + 'static,
{
    type Response = S::Response;
    type Error = Failure;
    type Future = ResponseFuture<S::Future, S::Response>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.inner.poll_ready(cx).map_err(Failure::from_any)
    }

    #[inline]
    fn call(&mut self, mut call: Req) -> Self::Future {
        // Resources and prompts are only read, so they may run twice.
        if call.method() != Method::CallTool {
            return ResponseFuture::passing(self.inner.call(call));
        }
        // Done without a key too, so that no tool sees the numbers.
        let round = Round::take(&mut call);
        let config = self.mode.config();
        match config.key(&call) {
            Some(Ok(key)) => self.call_once(key, round, call),
            Some(Err(problem)) => {
                ResponseFuture::refused(failures::invalid_key(problem), Target::of(&call))
            }
            None if config.requires_key(&call) => {
                ResponseFuture::refused(failures::key_required(), Target::of(&call))
            }
            None => ResponseFuture::passing(self.inner.call(call)),
        }
    }
}

type Answering<S, Req> = ResponseFuture<<S as Service<Req>>::Future, <S as Service<Req>>::Response>;

impl<S: Clone> Idempotency<S> {
    fn call_once<Req>(&mut self, key: IdempotencyKey, round: Round, call: Req) -> Answering<S, Req>
    where
        S: Service<Req, Response: StoredResult, Error: Into<BoxError> + Send, Future: Send>
            + Send
            + 'static,
        Req: ToolCall + Send + 'static,
    {
        let config = self.mode.config();
        // The hints are about a first round. A later one uses up the caller's input.
        let may_run_twice = round == Round::default() && call.hints().may_repeat();
        let phase = Phase::new();
        let run = Run {
            record: RecordId::of_round(config.identity(&call).as_deref(), &key, round),
            key,
            round,
            config: Arc::clone(config),
            fingerprint: Fingerprint::of(&call),
            may_run_twice,
            target: Target::of(&call),
            cancellation: call.cancellation().cloned(),
            phase: phase.clone(),
        };
        // Call the instance that was made ready; keep the clone.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        let adopter = self.mode.handle().adopter();
        ResponseFuture::running(run.drive(ready, call), phase, adopter)
    }
}
