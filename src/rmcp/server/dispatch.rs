use super::{Resilient, ServerAnswer, ServerCall, error_data::data, progress::Reporting};
use crate::{
    classify::catch_panic,
    failure::BoxError,
    rmcp::{Answer, Request},
    serve::{HandlerAnswer, Unreadable},
};
use ::rmcp::{ErrorData, RoleServer, ServerHandler, model::Tool, service::RequestContext};
use serde_json::Value;
use tower::Service;

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
        arguments: Option<Value>,
        unreadable: Unreadable,
        context: RequestContext<RoleServer>,
    ) -> Result<Answer, ErrorData> {
        let _counted = self.life.running.one_more();
        let call = ServerCall::new(request, None, context);
        self.send(call.unreadable(arguments, unreadable), None)
            .await
    }

    async fn send(
        &self,
        call: ServerCall,
        reporting: Option<Reporting>,
    ) -> Result<Answer, ErrorData> {
        let cancellation = call.context().ct.clone();
        let given_up = async {
            tokio::select! {
                biased;
                () = cancellation.cancelled() => {}
                never = Reporting::beat(reporting.as_ref()) => match never {},
            }
        };
        let answer = self.life.send(self.stack.clone(), call, given_up).await;
        answer.map(HandlerAnswer::into_inner).map_err(data)
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
