use super::input::{self, Input};
use crate::failure::Failure;
use ::rmcp::{ClientHandler, RoleClient, model::InputRequiredResult, service::RunningService};
use std::{pin::Pin, time::Duration};

/// How long an unused connection may take to notify the server.
const GOODBYE: Duration = Duration::from_secs(3);

type Closing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A running service of rmcp with any handler.
pub(super) trait Running: Send + Sync {
    fn close(self: Box<Self>) -> Closing;

    /// Asks the handler for the input that a server requires.
    fn give(&self, required: InputRequiredResult, in_vain: u32) -> Giving<'_>;
}

type Giving<'a> = Pin<Box<dyn Future<Output = Result<Input, Failure>> + Send + 'a>>;

impl<H: ClientHandler> Running for RunningService<RoleClient, H> {
    fn close(mut self: Box<Self>) -> Closing {
        Box::pin(async move {
            // It is gone in every case.
            let _ = self.close_with_timeout(GOODBYE).await;
        })
    }

    fn give(&self, required: InputRequiredResult, in_vain: u32) -> Giving<'_> {
        Box::pin(input::give(self.service(), self.peer(), required, in_vain))
    }
}
