use super::{Resilient, error_data::catch};
use crate::{
    call::Hints,
    failure::Failure,
    rmcp::{Request, request::said_of},
    serve::{CatchPanics, Learned, PAGES},
};
use ::rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{ListToolsResult, PaginatedRequestParams},
    service::RequestContext,
};
use std::time::Duration;
use tokio::time::timeout;

/// How long the handler may take to list its tools for this. The first call waits for it.
const ASK: Duration = Duration::from_secs(1);

/// Remembers a page of a list that a client asked for.
pub(super) fn learn(learned: &Learned, page: &ListToolsResult) {
    learned.learn(said(page));
}

fn said(page: &ListToolsResult) -> impl Iterator<Item = (&str, Hints)> {
    let tools = page.tools.iter();
    tools.map(|tool| (&*tool.name, said_of(tool)))
}

impl<H: ServerHandler, S> Resilient<H, S> {
    /// The hints of the tool that a request calls: by the handler's `get_tool`, else by the lists
    /// that it gave its clients, else by one list that it is asked for.
    pub(super) async fn hints(
        &self,
        request: &Request,
        context: &RequestContext<RoleServer>,
    ) -> Option<Hints> {
        let Request::Tool(params) = request else {
            return None;
        };
        if let Some(tool) = self.known_tool(&params.name) {
            return Some(said_of(&tool));
        }
        if !self.learned.has_list() && self.life.running.is_serving() {
            tokio::select! {
                biased;
                () = self.ask_for_list(context) => {}
                // The call still goes through the stack, and leaves its line there.
                () = context.ct.cancelled() => {}
                () = self.life.running.cut_off() => {}
            }
        }
        self.learned.get(&params.name)
    }

    /// In the context of this call. Calls that come in the meantime wait too.
    async fn ask_for_list(&self, context: &RequestContext<RoleServer>) {
        let ask = || async {
            let walk = CatchPanics::new(catch(self.walk(context)));
            let failure = match timeout(ASK, walk).await {
                Ok(Ok(Ok(()))) => return,
                Ok(Ok(Err(error))) => Failure::from_any(error),
                Ok(Err(panic)) => panic,
                Err(elapsed) => Failure::timeout("").because(elapsed),
            };
            tracing::debug!(error = %failure.chain(), "the handler did not list its tools, their hints are unknown");
        };
        self.learned.ask_once(ask).await;
    }

    async fn walk(&self, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let mut cursors: Vec<String> = Vec::new();
        while cursors.len() < PAGES {
            let cursor = cursors.last().cloned();
            let page =
                cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let page = self.handler.list_tools(page, context.clone()).await?;
            self.learned.add(said(&page));
            match page.next_cursor {
                Some(next) if !cursors.contains(&next) => cursors.push(next),
                _ => break,
            }
        }
        Ok(())
    }
}
