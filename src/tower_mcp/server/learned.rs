//! Hints from a router's list of tools.

use crate::{
    call::Hints,
    serve::{CatchPanics, Learned, PAGES},
    tower_mcp::model::said_of,
};
use ::tower_mcp::{
    McpRouter, RouterRequest,
    protocol::{ListToolsParams, ListToolsResult, McpRequest, McpResponse},
};
use tower::Service;

/// Remembers a page of a list that a client asked for.
pub(super) fn learn(learned: &Learned, page: &ListToolsResult) {
    learned.learn(said(page));
}

fn said(page: &ListToolsResult) -> impl Iterator<Item = (&str, Hints)> {
    let tools = page.tools.iter();
    tools.map(|tool| (&*tool.name, said_of(tool)))
}

/// The hints of the tool that a request calls: by the lists that the router gave, else by one list
/// that it is asked for.
pub(super) async fn hints(
    learned: &Learned,
    request: &RouterRequest,
    router: &McpRouter,
) -> Option<Hints> {
    let McpRequest::CallTool(params) = &request.inner else {
        return None;
    };
    if !learned.has_list() {
        // Boxed: it happens once.
        Box::pin(learned.ask_once(|| async {
            // A filter of the user's may panic. It panics again, and is reported, when the tool is
            // called.
            if let Err(panic) = CatchPanics::new(walk(learned, request, router.clone())).await {
                tracing::debug!(error = %panic.chain(), "the router did not list its tools, their hints are unknown");
            }
        }))
        .await;
    }
    learned.get(&params.name)
}

/// In the context of this call.
async fn walk(learned: &Learned, request: &RouterRequest, mut router: McpRouter) {
    let mut cursors: Vec<String> = Vec::new();
    while cursors.len() < PAGES {
        let params = ListToolsParams {
            cursor: cursors.last().cloned(),
            meta: None,
        };
        let request = request.clone_with_inner(McpRequest::ListTools(params));
        let Ok(response) = router.call(request).await;
        let Ok(McpResponse::ListTools(page)) = response.inner else {
            return;
        };
        learned.add(said(&page));
        match page.next_cursor {
            Some(next) if !cursors.contains(&next) => cursors.push(next),
            _ => return,
        }
    }
}
