use super::{
    Resilient, ServerAnswer, ServerCall, error_data, progress::Reporting, unreadable::Unreadable,
};
use crate::{
    classify::catch_panic,
    failure::{BoxError, Class, Failure},
    ledger,
    rmcp::{Answer, Request},
    serve::{self, Net, thrown},
};
use ::rmcp::{ErrorData, RoleServer, ServerHandler, model::Tool, service::RequestContext};
use std::future::ready;
use tower::{Service, ServiceExt};

impl<H, S> Resilient<H, S>
where
    H: ServerHandler,
    S: Service<ServerCall, Response = ServerAnswer> + Clone,
    S::Error: Into<BoxError>,
{
    /// Sends a request through the stack, until the client gives it up.
    pub(super) async fn dispatch(
        &self,
        request: Request,
        mut context: RequestContext<RoleServer>,
    ) -> Result<Answer, ErrorData> {
        let _counted = self.life.running.one_more();
        let hints = self.hints(&request, &context).await;
        // Before the peer is replaced.
        let keyed = self.life.running.keyed().map(|keyed| {
            let cancellations = &self.cancellations;
            (keyed, cancellations.begin(&context.peer, &context.id))
        });
        let reporting = Reporting::begin(
            &request,
            &mut context,
            &self.bridges,
            self.heartbeat,
            &self.observers,
        );
        let mut call = ServerCall::new(request, hints, context);
        if let Some((keyed, cancellation)) = keyed {
            call = call.remembered(keyed, self.identity.clone(), cancellation);
        }
        let report = reporting.as_ref().map(Reporting::report);
        self.send(call.reported(report), reporting).await
    }

    /// Sends a request through the stack that the handler must not get.
    pub(super) async fn dispatch_unreadable(
        &self,
        request: Request,
        unreadable: Unreadable,
        context: RequestContext<RoleServer>,
    ) -> Result<Answer, ErrorData> {
        let _counted = self.life.running.one_more();
        let call = ServerCall::new(request, None, context);
        self.send(call.unreadable(unreadable), None).await
    }

    async fn send(
        &self,
        call: ServerCall,
        reporting: Option<Reporting>,
    ) -> Result<Answer, ErrorData> {
        let cancellation = call.context().ct.clone();
        let mut answer = Net::under(self.stack.clone().oneshot(call));
        // The answer first: an answer that is ready is not dropped.
        let outcome = tokio::select! {
            biased;
            outcome = &mut answer => Some(outcome),
            () = cancellation.cancelled() => {
                // The client does not read this.
                return Err(error_data::answer(&Failure::cancelled("")));
            }
            never = Reporting::beat(reporting.as_ref()) => match never {},
            // A running attempt is cut off where it runs, and answers at once.
            () = self.life.running.cut_off() => tokio::select! {
                biased;
                outcome = &mut answer => Some(outcome),
                () = ready(()) => None,
            },
        };
        match outcome {
            Some(Ok(Ok(answer))) => Ok(answer.into_inner()),
            Some(Ok(Err(error))) => Err(self.refuse(&Failure::from_any(error))),
            Some(Err(panic)) => Err(error_data::data(thrown::report_panic(&panic))),
            // In a wait or a queue.
            None => {
                ledger::drop_for(serve::shut_down(), answer);
                Err(self.cut_off())
            }
        }
    }

    /// The error for the host. A failure that is fatal to any stack here is fatal to the server.
    fn refuse(&self, failure: &Failure) -> ErrorData {
        if failure.class() == Class::Fatal {
            self.life.fatal.watch(failure);
        }
        error_data::answer(failure)
    }

    fn cut_off(&self) -> ErrorData {
        match self.life.fatal.cause() {
            Some(cause) => error_data::answer(&Failure::from(cause)),
            None => ErrorData::internal_error("the server is shutting down", None),
        }
    }
}

impl<H: ServerHandler, S> Resilient<H, S> {
    /// The handler's hints for the tool. If that fails, the call of the tool fails and is reported.
    pub(super) fn known_tool(&self, name: &str) -> Option<Tool> {
        catch_panic(|| self.handler.get_tool(name)).unwrap_or_else(|panic| {
            tracing::error!(error = %panic.chain(), "the handler's `get_tool` panicked, the tool's hints are unknown");
            None
        })
    }
}
