use super::{lease::Lease, service::Owner};
use crate::failure::{BoxError, Delivery, Failure};
use pin_project::pin_project;
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
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
    // Held until the answer is there: a connection that was retired meanwhile is released with
    // the last call on it.
    leased: Option<Leased<C>>,
    owner: Arc<Owner<C>>,
}

// Waiting -> Readying -> Calling; at once Readying where there is a connection.
#[pin_project(project = StateProj)]
enum State<C, F> {
    Waiting(Pin<Box<dyn Future<Output = Result<Leased<C>, Failure>> + Send>>),
    Readying,
    Calling(#[pin] F),
}

impl<C, Req> ResponseFuture<C, Req>
where
    C: Service<Req> + Clone + Send + 'static,
{
    pub(super) fn new(call: Req, owner: Arc<Owner<C>>) -> Self {
        let leased = owner.shared.connection();
        let state = match leased {
            Some(_) => State::Readying,
            None => State::Waiting(Box::pin(Arc::clone(&owner.shared).wait())),
        };
        Self {
            state,
            call: Some(call),
            leased,
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

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            if let StateProj::Waiting(connection) = this.state.as_mut().project() {
                *this.leased = Some(ready!(connection.as_mut().poll(cx))?);
                this.state.set(State::Readying);
            }
            let (connection, lease) = this.leased.as_mut().expect("waiting ends with a lease");
            let shared = &this.owner.shared;
            match this.state.as_mut().project() {
                StateProj::Waiting(_) => {}
                StateProj::Readying => {
                    if let Err(error) = ready!(connection.poll_ready(cx)) {
                        // Whatever it was: the call never left.
                        let failure = Failure::from_any(error).with_delivery(Delivery::NotSent);
                        shared.retire(lease, &failure);
                        return Poll::Ready(Err(failure));
                    }
                    let call = this.call.take().expect("a call is sent once");
                    let answer = connection.call(call);
                    this.state.set(State::Calling(answer));
                }
                StateProj::Calling(answer) => {
                    let outcome = ready!(answer.poll(cx)).map_err(Failure::from_any);
                    match &outcome {
                        Err(failure) if failure.class().needs_new_connection() => {
                            shared.retire(lease, failure);
                        }
                        _ => lease.answer(),
                    }
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
