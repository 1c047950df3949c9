use super::{dial, lease::Lease, outcome, service::Owner};
use crate::failure::{BoxError, Delivery, Failure, Stopped};
use pin_project::pin_project;
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::time::Instant;
use tower::Service;

type Leased<C> = (C, Arc<Lease>);

/// Response future of [`Reconnect`](super::Reconnect).
#[pin_project]
pub struct ResponseFuture<C, Req>
where
    C: Service<Req> + Clone + Send + 'static,
{
    #[pin]
    state: State<C, C::Future>,
    // Taken when it is sent.
    call: Option<Req>,
    // Set once it has to wait.
    until: Option<Instant>,
    // Held until the answer is there: a connection that was retired meanwhile is released with
    // the last call on it.
    leased: Option<Leased<C>>,
    owner: Arc<Owner<C>>,
}

// Waiting -> Readying -> Calling; at once Readying where there is a connection, and back to
// Waiting when that one is retired first.
#[pin_project(project = StateProj)]
enum State<C, F> {
    Waiting(BoxFuture<Result<Leased<C>, Failure>>),
    // With the end of the connection, once its readiness is waited for, or of the patience.
    Readying(Option<BoxFuture<bool>>),
    Calling(#[pin] F),
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<C, Req> ResponseFuture<C, Req>
where
    C: Service<Req> + Clone + Send + 'static,
{
    pub(super) fn new(call: Req, owner: Arc<Owner<C>>) -> Self {
        let leased = owner.shared.connection();
        let mut until = None;
        let state = match leased {
            Some(_) => State::Readying(None),
            None => State::waiting(&owner, &mut until),
        };
        Self {
            state,
            call: Some(call),
            until,
            leased,
            owner,
        }
    }
}

impl<C: Clone + Send + 'static, F> State<C, F> {
    fn waiting(owner: &Owner<C>, until: &mut Option<Instant>) -> Self {
        let shared = &owner.shared;
        let until = *until.get_or_insert_with(|| shared.patience());
        Self::Waiting(Box::pin(Arc::clone(shared).wait(until)))
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
        loop {
            if let StateProj::Waiting(connection) = this.state.as_mut().project() {
                *this.leased = Some(ready!(connection.as_mut().poll(cx))?);
                this.state.set(State::Readying(None));
            }
            let (connection, lease) = this.leased.as_mut().expect("waiting ends with a lease");
            let shared = &this.owner.shared;
            match this.state.as_mut().project() {
                StateProj::Waiting(_) => {}
                StateProj::Readying(retired) => {
                    let readied = connection.poll_ready(cx);
                    let mut is_too_slow = false;
                    if readied.is_pending() && !lease.is_retired() {
                        let retired = retired.get_or_insert_with(|| {
                            let until = *this.until.get_or_insert_with(|| shared.patience());
                            Box::pin(Arc::clone(shared).retired(Arc::clone(lease), until))
                        });
                        is_too_slow = !ready!(retired.as_mut().poll(cx));
                    }
                    match readied {
                        _ if is_too_slow => {
                            let mut failure =
                                Failure::timeout("the connection was not ready in time")
                                    .with_delivery(Delivery::NotSent);
                            failure.set_stopped(Stopped::NotReady);
                            shared.retire(lease, &failure);
                            return Poll::Ready(Err(failure));
                        }
                        // Not sent yet, and there is a better connection to be had.
                        _ if lease.is_retired() => {
                            *this.leased = None;
                            let state = State::waiting(this.owner, this.until);
                            this.state.set(state);
                        }
                        Poll::Ready(Ok(())) => {
                            let call = this.call.take().expect("a call is sent once");
                            let answer = connection.call(call);
                            this.state.set(State::Calling(answer));
                        }
                        Poll::Ready(Err(error)) => {
                            let failure = dial::failure(Failure::from_any(error));
                            shared.retire(lease, &failure);
                            if !outcome::is_lost(&failure) {
                                return Poll::Ready(Err(failure));
                            }
                            // The call never left: it is made on the next one.
                            *this.leased = None;
                            let state = State::waiting(this.owner, this.until);
                            this.state.set(state);
                        }
                        Poll::Pending => return Poll::Pending,
                    }
                }
                StateProj::Calling(answer) => {
                    let mut outcome = ready!(answer.poll(cx)).map_err(Failure::from_any);
                    outcome::observe(shared, lease, outcome.as_mut().map(drop));
                    return Poll::Ready(outcome);
                }
            }
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
