//! Hints of the tools of a handler that lists them and has no `get_tool`.

use crate::support::{Log, Raw, assert_has, preset};
use mcp_resilience::{Failure, rmcp::Resilient};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

/// How the list answers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Listing {
    Pages,
    Fails,
    Panics,
    Hangs,
    SameCursor,
}

/// The tools `look` (read-only, once `is_read_only` is set), `typed` and `pay`, a page each.
#[derive(Clone)]
struct Listed(Arc<State>);

struct State {
    listing: Listing,
    lists: AtomicU32,
    runs: AtomicU32,
    look_is_read_only: AtomicU32,
}

impl Listed {
    fn new(listing: Listing) -> Self {
        Self(Arc::new(State {
            listing,
            lists: AtomicU32::new(0),
            runs: AtomicU32::new(0),
            look_is_read_only: AtomicU32::new(1),
        }))
    }
}

impl ServerHandler for Listed {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.0.lists.fetch_add(1, Relaxed);
        match self.0.listing {
            Listing::Fails => return Err(Failure::unavailable(None).into()),
            Listing::Panics => panic!("no list"),
            Listing::Hangs => std::future::pending::<()>().await,
            Listing::Pages | Listing::SameCursor => {}
        }
        let is_read_only = self.0.look_is_read_only.load(Relaxed) == 1;
        let hints = ToolAnnotations::default().read_only(is_read_only);
        let schema = json!({"type": "object"}).as_object().unwrap().clone();
        let cursor = page.and_then(|page| page.cursor).unwrap_or_default();
        let (tool, next) = match &*cursor {
            "" => (
                Tool::new("look", "", Map::new()).with_annotations(hints),
                Some("1"),
            ),
            "1" => {
                let typed = Tool::new("typed", "", Map::new());
                (typed.with_raw_output_schema(Arc::new(schema)), Some("2"))
            }
            _ => (Tool::new("pay", "", Map::new()), None),
        };
        let next = match self.0.listing {
            Listing::SameCursor => Some("1"),
            _ => next,
        };
        let mut page = ListToolsResult::with_all_items(vec![tool]);
        page.next_cursor = next.map(str::to_owned);
        Ok(page)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let run = self.0.runs.fetch_add(1, Relaxed) + 1;
        if run == 1 || request.name == "typed" {
            return Err(Failure::connection("the shelf hung up").into());
        }
        let text = ContentBlock::text(format!("run {run}"));
        Ok(CallToolResult::success(vec![text]).into())
    }
}

/// A client, and the log.
async fn open(handler: &Listed) -> (Raw, Log) {
    let log = Log::default();
    let mut client = Raw::open(Resilient::with_preset(handler.clone(), &preset(&log)));
    client.initialize().await;
    (client, log)
}

async fn call(client: &mut Raw, tool: &str) -> Value {
    client.request("tools/call", json!({"name": tool})).await
}

fn lists(handler: &Listed) -> u32 {
    handler.0.lists.load(Relaxed)
}

#[tokio::test(start_paused = true)]
async fn hints_are_learned_from_a_list_that_passes_by() {
    let handler = Listed::new(Listing::Pages);
    let (mut client, log) = open(&handler).await;
    client.request("tools/list", json!({})).await;
    let answer = call(&mut client, "look").await;
    assert_eq!(answer["result"]["content"][0]["text"], "run 2");
    assert_has(&log.only(), &json!({"outcome": "success", "attempts": 2}));
    assert_eq!(lists(&handler), 1, "the client's list is enough");
}

#[tokio::test(start_paused = true)]
async fn a_hint_counts_only_if_every_list_gives_it() {
    for order in [[1, 0], [0, 1]] {
        let handler = Listed::new(Listing::Pages);
        let log = Log::default();
        let server = Resilient::with_preset(handler.clone(), &preset(&log));
        // Two clients that get different lists.
        let mut clients = [Raw::open(server.clone()), Raw::open(server)];
        for (client, is_read_only) in clients.iter_mut().zip(order) {
            client.initialize().await;
            handler.0.look_is_read_only.store(is_read_only, Relaxed);
            client.request("tools/list", json!({})).await;
        }
        let answer = call(&mut clients[0], "look").await;
        assert_eq!(answer["result"]["isError"], true, "{answer:#}");
        let wanted = json!({"attempts": 1, "retry_stopped": "may_have_run"});
        assert_has(&log.only(), &wanted);
    }
}

#[tokio::test(start_paused = true)]
async fn the_handler_is_asked_once_if_no_list_has_passed_by() {
    let handler = Listed::new(Listing::Pages);
    let (mut client, log) = open(&handler).await;
    let answer = call(&mut client, "look").await;
    assert_eq!(answer["result"]["content"][0]["text"], "run 2");
    assert_eq!(lists(&handler), 3, "a list for each page");
    call(&mut client, "unheard_of").await;
    call(&mut client, "look").await;
    assert_eq!(lists(&handler), 3);
    assert_eq!(log.all().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_output_schema_is_learned_too() {
    let handler = Listed::new(Listing::Pages);
    let (mut client, _) = open(&handler).await;
    let answer = call(&mut client, "typed").await;
    assert_eq!(answer["result"]["isError"], true, "{answer:#}");
    assert_eq!(
        answer["result"].get("structuredContent"),
        None,
        "{answer:#}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_leaves_the_hints_unknown_and_the_call_works() {
    let listings = [
        Listing::Fails,
        Listing::Panics,
        Listing::Hangs,
        Listing::SameCursor,
    ];
    for listing in listings {
        let handler = Listed::new(listing);
        let (mut client, log) = open(&handler).await;
        let answer = call(&mut client, "pay").await;
        assert_eq!(answer["result"]["isError"], true, "{listing:?}: {answer:#}");
        assert_has(&log.only(), &json!({"attempts": 1}));
        let answer = call(&mut client, "pay").await;
        assert_eq!(answer["result"]["content"][0]["text"], "run 2");
        assert!(lists(&handler) <= 2, "{listing:?}: asked once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_while_the_handler_lists_its_tools_leaves_its_line() {
    let handler = Listed::new(Listing::Hangs);
    let (mut client, log) = open(&handler).await;
    let id = client.begin("tools/call", json!({"name": "pay"})).await;
    while lists(&handler) == 0 {
        tokio::task::yield_now().await;
    }
    let begun = tokio::time::Instant::now();
    client
        .notify("notifications/cancelled", json!({"requestId": id}))
        .await;
    while log.all().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "paused time");
    log.only();
}
