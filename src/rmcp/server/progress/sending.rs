use crate::serve::progress::{Beat, Verdict};
use pin_project::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

/// Sends a message as its verdict says.
///
/// It has a type of its own, since the futures of transports hold whole messages. An `async` block
/// would hold each message twice, and rmcp spawns one for each.
#[pin_project]
pub(super) struct Sending<F, G> {
    // Ends when a heartbeat has been sent. Boxed, since that is rare.
    turn: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    // The transport's future, if the message has to be sent.
    #[pin]
    message: Option<F>,
    // Dropped when the message has been sent.
    held: Option<(Option<Beat>, G)>,
}

impl<F, G> Sending<F, G> {
    pub(super) fn new(verdict: Verdict, message: Option<F>, guard: G) -> Self {
        let (turn, beat) = match verdict {
            Verdict::After(mut is_beating) => {
                let turn = Box::pin(async move {
                    // An error: the call has ended, and its heartbeats with it.
                    let _ = is_beating.wait_for(|is_beating| !is_beating).await;
                });
                (Some(turn as _), None)
            }
            Verdict::Beat(beat) => (None, Some(beat)),
            Verdict::Send | Verdict::Drop => (None, None),
        };
        Self {
            turn,
            message,
            held: Some((beat, guard)),
        }
    }
}

impl<F, G, E> Future for Sending<F, G>
where
    F: Future<Output = Result<(), E>>,
{
    type Output = Result<(), E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Some(turn) = this.turn {
            ready!(turn.as_mut().poll(cx));
            *this.turn = None;
        }
        let sent = match this.message.as_pin_mut() {
            Some(message) => ready!(message.poll(cx)),
            None => Ok(()),
        };
        *this.held = None;
        Poll::Ready(sent)
    }
}
