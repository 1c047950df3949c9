use super::{
    ResponseFuture, RetryLayer,
    progress::Progress,
    settings::{Settings, Word},
    watch,
};
use crate::{
    call::{self, ToolCall},
    failure::{BoxError, Failure},
    policy::Table,
};
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// Makes a call again, if it may run again and waiting may help.
///
/// See the [module page](super).
#[derive(Clone, Debug)]
pub struct Retry<S> {
    pub(super) inner: S,
    pub(super) table: Arc<Table<Arc<Settings>>>,
}

impl<S> Retry<S> {
    /// Makes the calls of a service again, with the defaults.
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
        let settings = self.table.of(&call);
        let word = settings.word_on(&call);
        let hint_source = (word == Word::Hinted).then(|| call.hint_source()).flatten();
        // The attempts' own limits are others' business.
        let has_deadline = settings.limits.deadline.is_some();
        let reports = call.progress().filter(|_| has_deadline);
        let running = reports.map(call::Progress::attempt);
        // The instance that was made ready takes the first attempt. The clone is not ready: the
        // future readies it before every further one.
        let again = if settings.max_attempts > 1 {
            Ok((call.clone(), self.inner.clone()))
        } else {
            Err(watch::name_kept(settings, &call))
        };
        let progress = Progress::new(
            Arc::clone(&self.table),
            Arc::clone(settings),
            word,
            hint_source,
            again,
            running,
        );
        ResponseFuture::new(self.inner.call(call), progress)
    }
}
