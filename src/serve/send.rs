use super::{CatchPanics, Lifetime, shut_down, thrown};
use crate::{
    failure::{BoxError, Class, Failure, RpcError},
    ledger,
};
use std::future::ready;
use tower::{Service, ServiceExt};

impl Lifetime {
    /// Sends a call through its stack, until its client gives it up or the server ends. The error is
    /// the one for the host. `given_up` is polled after the call.
    pub(crate) async fn send<S, C>(
        &self,
        stack: S,
        call: C,
        given_up: impl Future<Output = ()>,
    ) -> Result<S::Response, RpcError>
    where
        S: Service<C>,
        S::Error: Into<BoxError>,
    {
        let mut answer = CatchPanics::new(stack.oneshot(call));
        // The answer first: an answer that is ready is not dropped.
        let outcome = tokio::select! {
            biased;
            outcome = &mut answer => Some(outcome),
            () = given_up => {
                // The client does not read this.
                return Err(thrown::answer(&Failure::cancelled("")));
            }
            // A running attempt is cut off where it runs, and answers at once.
            () = self.running.cut_off() => tokio::select! {
                biased;
                outcome = &mut answer => Some(outcome),
                () = ready(()) => None,
            },
        };
        match outcome {
            Some(Ok(Ok(answer))) => Ok(answer),
            Some(Ok(Err(error))) => Err(self.refuse(&Failure::from_any(error))),
            Some(Err(panic)) => Err(thrown::report_panic(&panic)),
            // In a wait or a queue.
            None => {
                ledger::drop_for(shut_down(), answer);
                Err(self.cut_off())
            }
        }
    }

    /// The error for the host. A failure that is fatal to any stack here is fatal to the server.
    fn refuse(&self, failure: &Failure) -> RpcError {
        if failure.class() == Class::Fatal {
            self.fatal.watch(failure);
        }
        thrown::answer(failure)
    }

    fn cut_off(&self) -> RpcError {
        let Some(cause) = self.fatal.cause() else {
            let message = "the server is shutting down";
            return RpcError::new(RpcError::INTERNAL_ERROR, message, None);
        };
        thrown::answer(&Failure::from(cause))
    }
}
