use super::{
    dial,
    machine::Generation,
    outcome,
    service::Owner,
    shared::Shared,
    waiting::{Leased, Wait},
};
use crate::{
    failure::{BoxError, Class, Failure, Stopped, Witness},
    window::{self, BeginBy},
};
use pin_project::{pin_project, pinned_drop};
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    thread,
};
use tower::Service;

/// Response future of [`Reconnect`](super::Reconnect).
///
/// Waits for a connection, then for its readiness, and then for the answer. Most calls find a connection, and wait only
/// for the answer.
#[pin_project(PinnedDrop)]
pub struct ResponseFuture<C, Req>
where
    C: Service<Req> + Clone + Send + 'static,
{
    // Set while the call is sent and not answered.
    #[pin]
    answer: Option<C::Future>,
    // Taken when the call is sent.
    call: Option<Req>,
    // Held until the answer has arrived. The last call on a retired connection releases it. `None` while
    // the call waits for a connection.
    leased: Option<Leased<C>>,
    // Set once the call has to wait, until it is sent. Boxed, since it is large and most calls never wait.
    wait: Option<Box<Wait<C>>>,
    // Set if the call is a repeat.
    begin_by: Option<BeginBy>,
    owner: Arc<Owner<C>>,
}

impl<C, Req> ResponseFuture<C, Req>
where
    C: Service<Req> + Clone + Send + 'static,
{
    /// Created in the layer's `call`, where the window of a repeat is known.
    #[inline]
    pub(super) fn new(call: Req, owner: Arc<Owner<C>>) -> Self {
        let begin_by = BeginBy::current();
        let leased = owner.shared.connection();
        let wait = match leased {
            Some(_) => None,
            None => Some(Box::new(Wait::of_new_call(
                &owner.shared,
                begin_by.as_ref(),
            ))),
        };
        Self {
            answer: None,
            call: Some(call),
            leased,
            wait,
            begin_by,
            owner,
        }
    }
}

impl<C, Req> Future for ResponseFuture<C, Req>
where
    C: Service<Req> + Clone + Send + 'static,
    C::Error: Into<BoxError>,
{
    type Output = Result<C::Response, Failure>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let shared = &this.owner.shared;
        let begin_by = this.begin_by.as_ref();
        loop {
            let Some((connection, generation)) = this.leased else {
                *this.leased = Some(ready!(poll_connected(this.wait, shared, begin_by, cx))?);
                continue;
            };
            let generation = *generation;
            if let Some(answer) = this.answer.as_mut().as_pin_mut() {
                let mut outcome = ready!(answer.poll(cx)).map_err(|error| {
                    // The failure may come from a layer around the connection.
                    Failure::from_any(error).attributed_to(Witness::Connection)
                });
                this.answer.set(None);
                shared.observe(generation, outcome.as_mut().map(|_| ()));
                return Poll::Ready(outcome);
            }
            let readied = connection.poll_ready(cx);
            if shared.is_retired(generation) {
                // It was not sent: use the next connection.
                *this.leased = None;
                continue;
            }
            match readied {
                Poll::Ready(Ok(())) => {
                    // A repeat that waited may be late, for example after the machine slept.
                    if let Some(missed) = over(begin_by) {
                        return Poll::Ready(Err(missed.miss()));
                    }
                    *this.wait = None;
                    let call = this.call.take().expect("polled after its end");
                    let answer = window::within(begin_by, || connection.call(call));
                    this.answer.set(Some(answer));
                }
                Poll::Ready(Err(error)) => {
                    let failure = dial::failure(Failure::from_any(error));
                    let is_lost = outcome::is_lost(&failure);
                    shared.lost(generation, &failure);
                    if !is_lost {
                        return Poll::Ready(Err(failure));
                    }
                    *this.leased = None;
                }
                Poll::Pending => {
                    ready!(poll_retired(this.wait, shared, generation, begin_by, cx))?;
                    *this.leased = None;
                }
            }
        }
    }
}

/// Waits for a connection.
#[cold]
fn poll_connected<C: Clone + Send + 'static>(
    wait: &mut Option<Box<Wait<C>>>,
    shared: &Arc<Shared<C>>,
    begin_by: Option<&BeginBy>,
    cx: &mut Context<'_>,
) -> Poll<Result<Leased<C>, Failure>> {
    let wait = wait.get_or_insert_with(|| Box::new(Wait::again(shared, begin_by)));
    wait.poll_connected(shared, cx)
        .map_err(|failure| match over(begin_by) {
            // The window ended first.
            Some(missed) if failure.class() != Class::Fatal => missed.miss(),
            _ => failure,
        })
}

/// Waits until a connection that is not ready is retired.
#[cold]
fn poll_retired<C: Clone + Send + 'static>(
    wait: &mut Option<Box<Wait<C>>>,
    shared: &Arc<Shared<C>>,
    generation: Generation,
    begin_by: Option<&BeginBy>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), Failure>> {
    let wait = wait.get_or_insert_with(|| Box::new(Wait::again(shared, begin_by)));
    if ready!(wait.poll_retired(shared, generation, begin_by, cx)) {
        return Poll::Ready(Ok(()));
    }
    if let Some(missed) = over(begin_by) {
        return Poll::Ready(Err(missed.miss()));
    }
    let mut failure = Failure::timeout("the connection was not ready in time").not_sent();
    failure.set_stopped(Stopped::NotReady);
    shared.failed(generation, &mut failure);
    Poll::Ready(Err(failure))
}

/// The window of a repeat, if it is over.
#[inline]
fn over(begin_by: Option<&BeginBy>) -> Option<&BeginBy> {
    begin_by.filter(|begin_by| begin_by.is_over())
}

#[pinned_drop]
impl<C, Req> PinnedDrop for ResponseFuture<C, Req>
where
    C: Service<Req> + Clone + Send + 'static,
{
    #[inline]
    fn drop(self: Pin<&mut Self>) {
        let this = self.project();
        // A panic says nothing about the connection.
        if let (Some(_), Some((_, generation))) = (&*this.answer, this.leased)
            && !thread::panicking()
        {
            this.owner.shared.given_up(*generation);
        }
    }
}

impl<C, Req> fmt::Debug for ResponseFuture<C, Req>
where
    C: Service<Req> + Clone + Send + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
