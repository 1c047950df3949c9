//! Which calls are repeated, and the number of an attempt.

use crate::support::{Desk, Log, Run, WAIT, assert_has, call, connect, ok, preset, settings, text};
use mcp_resilience::{Failure, rmcp::Resilient};
use rmcp::{
    ErrorData, ServerHandler,
    model::{
        CallToolResponse, GetPromptRequestParams, GetPromptResponse, InputResponses,
        ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        ToolAnnotations,
    },
    service::{RequestContext, RoleServer, ServiceError},
};
use serde_json::json;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::mpsc, time::Instant};

/// Lost on the way: it may have run.
async fn lost(_: Run) -> Result<CallToolResponse, ErrorData> {
    Err(Failure::connection("").into())
}

#[tokio::test(start_paused = true)]
async fn the_hints_of_a_tool_decide_whether_it_may_run_twice() {
    let hints = ToolAnnotations::new;
    let desk = Desk::new(lost)
        .annotated("reads", hints().read_only(true))
        .annotated("again", hints().idempotent(true))
        .annotated("writes", hints().read_only(false).idempotent(false))
        .annotated("unsaid", hints());
    let attempts = desk.attempts();
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;

    let mut runs = Vec::new();
    for tool in ["reads", "again", "writes", "unsaid", "unlisted"] {
        let before = attempts.so_far().len();
        let answer = client.call_tool(call(tool)).await.unwrap();
        assert_eq!(answer.is_error, Some(true), "{tool}");
        let may_have_run = text(&answer).contains("may have run");
        runs.push((tool, attempts.so_far().len() - before, may_have_run));
    }
    let expected = [
        ("reads", 3, false),
        ("again", 3, false),
        ("writes", 1, true),
        ("unsaid", 1, true),
        ("unlisted", 1, true),
    ];
    assert_eq!(runs, expected);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_told_its_number_anew_for_each_call() {
    let desk = Desk::new(|run: Run| async move {
        match run.number {
            1 | 2 | 4 => Err(Failure::rate_limited(Some(Duration::from_secs(3)))
                .before_running()
                .into()),
            _ => ok("at last"),
        }
    });
    let attempts = desk.attempts();
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;

    let begun = Instant::now();
    let answer = client.call_tool(call("quote")).await.unwrap();
    assert_eq!(text(&answer), "at last");
    assert_eq!(begun.elapsed(), Duration::from_secs(6));
    let answer = client.call_tool(call("quote")).await.unwrap();
    assert_eq!(text(&answer), "at last");
    assert_eq!(attempts.so_far(), [1, 2, 3, 1, 2]);
    let wanted = json!({
        "attempts": 3, "outcome": "success", "waited_ms": 6000, "latency_ms": 6000,
    });
    assert_has(&log.all()[0], &wanted);
}

#[tokio::test(start_paused = true)]
async fn a_continuation_of_an_earlier_answer_is_not_run_twice() {
    let hints = ToolAnnotations::new().read_only(true).idempotent(true);
    let desk = Desk::new(lost).annotated("reads", hints);
    let attempts = desk.attempts();
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;

    let with_state = call("reads").with_request_state("opaque");
    let responses = InputResponses::from([("name".to_owned(), json!({"action": "accept"}))]);
    let with_responses = call("reads").with_input_responses(responses);
    for continued in [with_state, with_responses] {
        let answer = client.call_tool(continued).await.unwrap();
        assert!(text(&answer).contains("may have run"), "{answer:#?}");
    }
    assert_eq!(attempts.so_far(), [1, 1]);
    // The same tool, when nothing is continued.
    client.call_tool(call("reads")).await.unwrap();
    assert_eq!(attempts.so_far(), [1, 1, 1, 2, 3]);
}

/// Fails to read and to prompt, as lost on the way, and counts.
#[derive(Clone, Debug, Default)]
struct Unreadable {
    reads: Arc<AtomicU32>,
    prompts: Arc<AtomicU32>,
}

impl ServerHandler for Unreadable {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder();
        ServerConfig::new(capabilities.enable_resources().enable_prompts().build())
    }

    async fn read_resource(
        &self,
        _: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.reads.fetch_add(1, Relaxed);
        Err(Failure::connection("").into())
    }

    async fn get_prompt(
        &self,
        _: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.prompts.fetch_add(1, Relaxed);
        Err(Failure::connection("").into())
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_and_a_prompt_may_be_read_again() {
    let shelf = Unreadable::default();
    let (reads, prompts) = (Arc::clone(&shelf.reads), Arc::clone(&shelf.prompts));
    let log = Log::default();
    let client = connect(Resilient::with_preset(shelf, &preset(&log)), ()).await;

    let read = ReadResourceRequestParams::new("shelf://1");
    let failed = client.read_resource(read.clone()).await.unwrap_err();
    let ServiceError::McpError(error) = failed else {
        panic!("no JSON-RPC error: {failed:?}");
    };
    assert_eq!(error.code.0, -32603);
    assert!(error.message.contains("shelf://1"), "{}", error.message);
    let prompt = GetPromptRequestParams::new("pick");
    client.get_prompt(prompt).await.unwrap_err();
    assert_eq!((reads.load(Relaxed), prompts.load(Relaxed)), (3, 3));

    // Unless they continue something.
    let continued = read.with_request_state("opaque");
    client.read_resource(continued).await.unwrap_err();
    assert_eq!(reads.load(Relaxed), 4);
    let attempts: Vec<_> = log.all().iter().map(|l| l["attempts"].clone()).collect();
    assert_eq!(attempts, [3, 3, 1]);
}

/// Says when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_dropped_and_its_token_cancelled() {
    let dropped = Arc::new(AtomicBool::new(false));
    let (noticed, mut ends) = mpsc::unbounded_channel();
    let begun = Instant::now();
    let desk = Desk::new({
        let dropped = Arc::clone(&dropped);
        move |run: Run| {
            let until_drop = Dropped(Arc::clone(&dropped));
            let noticed = noticed.clone();
            async move {
                if run.number == 2 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    return ok("again");
                }
                let ct = run.context.ct.clone();
                // A task that a handler spawns outlives it, and learns of the end only through the
                // token.
                tokio::spawn(async move {
                    ct.cancelled().await;
                    noticed.send(begun.elapsed()).unwrap();
                });
                tokio::time::sleep(Duration::from_secs(3600)).await;
                drop(until_drop);
                ok("too late")
            }
        }
    })
    .annotated("reads", ToolAnnotations::new().read_only(true));
    let log = Log::default();
    let limit = Duration::from_secs(2);
    let preset = settings(&log).attempt_timeout(limit).build().unwrap();
    let client = connect(Resilient::with_preset(desk, &preset), ()).await;

    let calling = client.call_tool(call("reads"));
    let (answer, end) = tokio::join!(calling, ends.recv());
    assert_eq!(text(&answer.unwrap()), "again");
    assert_eq!(begun.elapsed(), limit + WAIT + Duration::from_secs(1));
    assert_eq!(end, Some(limit), "with the attempt, while the call goes on");
    assert!(dropped.load(Relaxed), "the handler's future is gone");
    let wanted = json!({"outcome": "success", "attempts": 2});
    assert_has(&log.only(), &wanted);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_a_token_of_its_own() {
    let begun: &Mutex<Vec<RequestContext<_>>> = Box::leak(Box::default());
    let desk = Desk::new(move |run: Run| async move {
        let mut begun = begun.lock().unwrap();
        begun.push(run.context.clone());
        let cancelled = begun.iter().map(|attempt| attempt.ct.is_cancelled());
        let cancelled: Vec<_> = cancelled.collect();
        match run.number {
            1 => assert_eq!(cancelled, [false]),
            _ => assert_eq!(cancelled, [true, false], "the first ended with its attempt"),
        }
        match run.number {
            1 => Err(Failure::connection("").into()),
            _ => ok("again"),
        }
    })
    .annotated("reads", ToolAnnotations::new().read_only(true));
    let log = Log::default();
    let client = connect(Resilient::with_preset(desk, &preset(&log)), ()).await;

    let answer = client.call_tool(call("reads")).await.unwrap();
    assert_eq!(text(&answer), "again");
    let begun = begun.lock().unwrap();
    assert!(begun.iter().all(|attempt| attempt.ct.is_cancelled()));
}
