use super::{
    dial,
    machine::{Generation, Ticket},
    outcome,
    service::Owner,
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
use tokio::time::Instant;
use tower::Service;

type Leased<C> = (C, Generation);

/// Response future of [`Reconnect`](super::Reconnect).
#[pin_project(PinnedDrop)]
pub struct ResponseFuture<C, Req>
where
    C: Service<Req> + Clone + Send + 'static,
{
    #[pin]
    state: State<C, C::Future>,
    // Taken when the call is sent.
    call: Option<Req>,
    // Set once the call has to wait.
    ticket: Option<Ticket>,
    // Set if the call is a repeat.
    begin_by: Option<BeginBy>,
    // Held until the answer has arrived. The last call on a retired connection releases it.
    leased: Option<Leased<C>>,
    owner: Arc<Owner<C>>,
}

// Waiting -> Readying -> Calling -> Done. It starts with Readying if there is a connection, and goes
// back to Waiting if that connection is retired first.
#[pin_project(project = StateProj)]
enum State<C, F> {
    Waiting(BoxFuture<Result<Leased<C>, Failure>>),
    // The future is set while the connection is not ready. It ends when the connection is retired,
    // or when the time to wait has passed.
    Readying(Option<BoxFuture<bool>>),
    Calling(#[pin] F),
    Done,
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<C, Req> ResponseFuture<C, Req>
where
    C: Service<Req> + Clone + Send + 'static,
{
    #[inline]
    /// Created in the layer's `call`, where the window of a repeat is known.
    pub(super) fn new(call: Req, owner: Arc<Owner<C>>) -> Self {
        let begin_by = BeginBy::current();
        let leased = owner.shared.connection();
        let mut ticket = None;
        let state = if leased.is_some() {
            State::Readying(None)
        } else {
            let ticket = *ticket.insert(owner.shared.ticket().until(last_begin(begin_by.as_ref())));
            State::waiting(&owner, ticket)
        };
        Self {
            state,
            call: Some(call),
            ticket,
            begin_by,
            leased,
            owner,
        }
    }
}

impl<C: Clone + Send + 'static, F> State<C, F> {
    #[cold]
    fn waiting(owner: &Owner<C>, ticket: Ticket) -> Self {
        Self::Waiting(Box::pin(Arc::clone(&owner.shared).wait(ticket)))
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
        loop {
            if let StateProj::Waiting(connection) = this.state.as_mut().project() {
                let leased = ready!(connection.as_mut().poll(cx));
                let leased = leased.map_err(|failure| in_time(failure, this.begin_by.as_ref()));
                *this.leased = Some(leased?);
                this.state.set(State::Readying(None));
            }
            let (connection, generation) = this
                .leased
                .as_mut()
                .expect("waiting ends with a connection");
            let generation = *generation;
            match this.state.as_mut().project() {
                StateProj::Waiting(_) => {}
                StateProj::Done => panic!("polled after its end"),
                StateProj::Readying(retired) => {
                    let readied = connection.poll_ready(cx);
                    let is_retired = shared.is_retired(generation);
                    if readied.is_pending() && !is_retired {
                        let ticket = this.ticket.get_or_insert_with(|| {
                            shared
                                .patient_ticket()
                                .until(last_begin(this.begin_by.as_ref()))
                        });
                        let retired = retired.get_or_insert_with(|| {
                            let ticket = ticket
                                .for_readiness(Instant::now())
                                .until(last_begin(this.begin_by.as_ref()));
                            Box::pin(Arc::clone(shared).retired(generation, ticket.until))
                        });
                        if !ready!(retired.as_mut().poll(cx)) {
                            let mut failure =
                                Failure::timeout("the connection was not ready in time").not_sent();
                            failure.set_stopped(Stopped::NotReady);
                            if let Some(missed) = over(this.begin_by.as_ref()) {
                                return Poll::Ready(Err(missed.miss()));
                            }
                            shared.failed(generation, &mut failure);
                            return Poll::Ready(Err(failure));
                        }
                    }
                    match readied {
                        Poll::Ready(Ok(())) if !is_retired => {
                            // A repeat that waited may be late, for example after the machine slept.
                            let begin_by = this.begin_by.as_ref();
                            if let Some(missed) = over(begin_by) {
                                return Poll::Ready(Err(missed.miss()));
                            }
                            let call = this.call.take().expect("a call is sent once");
                            let answer = window::within(begin_by, || connection.call(call));
                            this.state.set(State::Calling(answer));
                            continue;
                        }
                        Poll::Ready(Err(error)) if !is_retired => {
                            let failure = dial::failure(Failure::from_any(error));
                            let is_lost = outcome::is_lost(&failure);
                            shared.lost(generation, &failure);
                            if !is_lost {
                                return Poll::Ready(Err(failure));
                            }
                        }
                        _ => {}
                    }
                    // It was not sent, and the connection is retired: use the next one.
                    *this.leased = None;
                    let ticket = *this.ticket.get_or_insert_with(|| {
                        shared
                            .patient_ticket()
                            .until(last_begin(this.begin_by.as_ref()))
                    });
                    this.state.set(State::waiting(this.owner, ticket));
                }
                StateProj::Calling(answer) => {
                    let mut outcome = ready!(answer.poll(cx)).map_err(|error| {
                        // The failure may come from a layer around the connection.
                        Failure::from_any(error).attributed_to(Witness::Connection)
                    });
                    this.state.set(State::Done);
                    shared.observe(generation, outcome.as_mut().map(|_| ()));
                    return Poll::Ready(outcome);
                }
            }
        }
    }
}

fn last_begin(begin_by: Option<&BeginBy>) -> Option<Instant> {
    begin_by.and_then(BeginBy::at)
}

/// The window of a repeat, if it is over.
fn over(begin_by: Option<&BeginBy>) -> Option<&BeginBy> {
    begin_by.filter(|begin_by| begin_by.is_over())
}

/// The failure of a wait, or of the window if that ended first.
fn in_time(failure: Failure, begin_by: Option<&BeginBy>) -> Failure {
    match over(begin_by) {
        Some(missed) if failure.class() != Class::Fatal => missed.miss(),
        _ => failure,
    }
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
        if let (State::Calling(_), Some((_, generation))) = (&*this.state, this.leased)
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
