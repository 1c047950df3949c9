use super::{
    ResponseFuture, RetryLayer,
    next_attempt::{Moved, NextAttempt},
    progress::{Progress, call_within},
    settings::{Permission, Settings},
};
use crate::{
    call::{self, ToolCall},
    failure::{BoxError, Failure},
    ledger::Ledger,
    policy::Table,
    telemetry::AttemptSpan,
    window::BeginBy,
};
use std::{
    mem,
    sync::Arc,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// Repeats a call, if a repeat is safe and waiting may help.
///
/// See the [module page](super).
#[derive(Clone, Debug)]
pub struct Retry<S> {
    pub(super) inner: S,
    pub(super) table: Arc<Table<Settings>>,
}

impl<S> Retry<S> {
    /// Repeats the calls of a service, with the defaults.
    #[must_use]
    pub fn new(inner: S) -> Self {
        RetryLayer::new().layer(inner)
    }

    inner_accessors!(inner);
}

impl Retry<()> {
    /// The layer, with the defaults.
    #[must_use]
    pub fn layer() -> RetryLayer {
        RetryLayer::new()
    }
}

impl<S, Req> Service<Req> for Retry<S>
where
    S: Service<Req> + Clone,
    S::Error: Into<BoxError>,
    Req: ToolCall + Clone,
{
    type Response = S::Response;
    type Error = Failure;
    type Future = ResponseFuture<S, Req>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.inner.poll_ready(cx).map_err(Failure::from_any)
    }

    #[inline]
    fn call(&mut self, call: Req) -> Self::Future {
        let mut table = Arc::clone(&self.table);
        let mut place = table.find(&call);
        if let Some(options) = call.options() {
            let own = Table::of_call(table.at(place).with(options));
            // With a `repeat_ok` of the caller, a later change of the policy does not matter.
            table = Arc::new(match options.repeat_ok {
                Some(_) => own,
                None => own.after(table, place),
            });
            place = table.find(&call);
        }
        let settings = table.at(place);
        let permission = settings.permission_for(&call);
        // The timeout of attempts belongs to another layer.
        let has_deadline = settings.limits.deadline.is_some();
        let reports = call.progress().filter(|_| has_deadline);
        let running = reports.map(call::Progress::attempt);
        let ledger = Ledger::of(|| call.progress()?.ledger());
        if let Some(gate) = &settings.gate
            && !gate.admits(gate.target(&call))
        {
            // The instance that was made ready may hold a permit that other calls need. Release it.
            let fresh = self.inner.clone();
            drop(mem::replace(&mut self.inner, fresh));
            let again = NextAttempt::Kept(call, self.inner.clone());
            let span = AttemptSpan::none_yet();
            let progress = Progress::new(table, place, permission, again, running, ledger, span);
            return ResponseFuture::held(progress);
        }
        // Call the instance that was made ready. The clone is not ready, so the future readies it
        // before every further attempt.
        let again = if settings.max_attempts > 1 {
            NextAttempt::Kept(call.clone(), self.inner.clone())
        } else {
            NextAttempt::Moved(Moved::of(&call, settings, permission == Permission::Hinted))
        };
        let span = AttemptSpan::first(&call);
        if settings.gate.is_none() {
            // The common path. Making `progress` last moves it once less.
            let answer = span.in_scope(|| self.inner.call(call));
            let progress = Progress::new(table, place, permission, again, running, ledger, span);
            return ResponseFuture::new(answer, progress);
        }
        let mut progress = Progress::new(table, place, permission, again, running, ledger, span);
        let begin_by = BeginBy::new(None, progress.gate_below());
        let called = || call_within(&mut self.inner, call, begin_by.as_ref());
        let answer = progress.span.in_scope(called);
        ResponseFuture::new(answer, progress)
    }
}
