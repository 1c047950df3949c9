use super::{ResponseFuture, progress::Progress, settings::Settings};
use crate::{
    call::{self, ToolCall},
    failure::{BoxError, Failure},
    policy::Table,
};
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tower::Service;

/// Makes a call again, if it may run again and waiting may help.
///
/// See the [module page](super).
#[derive(Clone, Debug)]
pub struct Retry<S> {
    pub(super) inner: S,
    pub(super) table: Arc<Table<Arc<Settings>>>,
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
        // The attempts' own limits are others' business.
        let has_deadline = settings.limits.deadline.is_some();
        let reports = call.progress().filter(|_| has_deadline);
        let running = reports.map(call::Progress::attempt);
        // The instance that was made ready takes the first attempt. The clone is not ready: the
        // future readies it before every further one.
        let again = (settings.max_attempts > 1).then(|| (call.clone(), self.inner.clone()));
        let progress = Progress::new(
            Arc::clone(&self.table),
            Arc::clone(settings),
            word,
            again,
            running,
        );
        ResponseFuture::new(self.inner.call(call), progress)
    }
}
