use super::{Resilient, error_data::rpc_error};
use crate::{
    call::Hints,
    failure::Failure,
    rmcp::{Request, request::said_of},
    serve::{Net, thrown},
};
use ::rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{ListToolsResult, PaginatedRequestParams},
    service::RequestContext,
};
use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use tokio::{sync::OnceCell, time::timeout};

/// How long the handler may take to list its tools for us. The first call waits for it.
const ASK: Duration = Duration::from_secs(1);

/// The most pages that we ask for.
const PAGES: usize = 100;

/// The most tools that are remembered. A server has some dozens.
const CAPACITY: usize = 10_000;

/// What the handler's own lists say of its tools, for a handler without `get_tool`.
///
/// One for all clones and clients. A handler may list other tools to other clients, or change them over
/// time, and an announcement of that does not pass by here. So a hint counts only if every list so far
/// gave it.
#[derive(Clone, Default)]
pub(super) struct Learned(Arc<State>);

#[derive(Default)]
struct State {
    by_name: RwLock<HashMap<String, Hints>>,
    // Set once a list has passed by, or has been asked for.
    has_list: OnceCell<()>,
}

impl Learned {
    /// Remembers a page of a list that a client asked for.
    pub(super) fn learn(&self, page: &ListToolsResult) {
        self.add(page);
        let _ = self.0.has_list.set(());
    }

    /// What a page says of a tool counts as far as it agrees with what was known.
    fn add(&self, page: &ListToolsResult) {
        let mut by_name = self
            .0
            .by_name
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for tool in &page.tools {
            let said = said_of(tool);
            let is_full = by_name.len() >= CAPACITY;
            match by_name.get_mut(&*tool.name) {
                Some(known) => *known = known.agreed(said),
                // Unknown is safe: a tool without hints is not repeated.
                None if is_full => {}
                None => {
                    by_name.insert(tool.name.clone().into_owned(), said);
                }
            }
        }
    }

    fn get(&self, tool: &str) -> Option<Hints> {
        let by_name = self.0.by_name.read();
        let by_name = by_name.unwrap_or_else(PoisonError::into_inner);
        by_name.get(tool).copied()
    }
}

impl<H: ServerHandler, S> Resilient<H, S> {
    /// What is known of the tool that a request calls: by the handler's `get_tool`; else by the
    /// lists that it gave its clients; else by a list that it is asked for, once.
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
        if self.learned.0.has_list.get().is_none() && self.life.running.is_serving() {
            tokio::select! {
                biased;
                () = self.ask_for_list(context) => {}
                // The call still goes down the stack, and leaves its line there.
                () = context.ct.cancelled() => {}
                () = self.life.running.cut_off() => {}
            }
        }
        self.learned.get(&params.name)
    }

    /// In the name of the client whose call it is. A call that comes meanwhile waits too.
    async fn ask_for_list(&self, context: &RequestContext<RoleServer>) {
        let ask = || async {
            let walk = Net::under(thrown::catch(async {
                self.walk(context).await.map_err(rpc_error)
            }));
            let failure = match timeout(ASK, walk).await {
                Ok(Ok(Ok(()))) => return,
                Ok(Ok(Err(error))) => Failure::from_any(error),
                Ok(Err(panic)) => panic,
                Err(elapsed) => Failure::timeout("").because(elapsed),
            };
            tracing::debug!(error = %failure.chain(), "the handler did not list its tools, their hints are unknown");
        };
        self.learned.0.has_list.get_or_init(ask).await;
    }

    async fn walk(&self, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let mut cursors: Vec<String> = Vec::new();
        while cursors.len() < PAGES {
            let cursor = cursors.last().cloned();
            let page =
                cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let page = self.handler.list_tools(page, context.clone()).await?;
            self.learned.add(&page);
            match page.next_cursor {
                Some(next) if !cursors.contains(&next) => cursors.push(next),
                _ => break,
            }
        }
        Ok(())
    }
}
