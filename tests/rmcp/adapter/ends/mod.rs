//! The end of a server, in exact times: running calls, late calls, and everything that delays the
//! end.

mod drain;
mod grace;
mod signals;
mod stacks;
mod until;

use crate::support::{Desk, Run, call, ok};
use mcp_resilience::{Failure, rmcp::Resilient};
use rmcp::{
    ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt,
    model::{CallToolResponse, CallToolResult, NumberOrString},
    service::{Peer, RequestContext, RunningService, ServiceError},
};
use serde_json::{Value, json};
use std::{
    pin::Pin,
    task::{Context, Waker},
    time::Duration,
};
use tokio::task::JoinHandle;

/// How long calls that run at the end of these servers may still take: less than an attempt may.
const GRACE: Duration = Duration::from_secs(3);

/// How long a transport or a server may hold up the end.
const CLOSE: Duration = Duration::from_secs(2);

/// How long a call that is cut off has to notice; and how long messages that are on their way have
/// to arrive.
const MOMENT: Duration = Duration::from_millis(200);

/// How long the tool `slow` takes.
const SLOW: Duration = Duration::from_millis(300);

const HOUR: Duration = Duration::from_secs(3600);

/// The text for the model of a call to `endless` that was cut off.
const CUT_OFF: &str = "Error executing tool endless: the server was shut down before it was done. \
                       It may have run; verify before repeating.";

/// The text for the model of a call to `fine` that came too late.
const REFUSED: &str = "Error executing tool fine: the server is shutting down. Try again later.";

/// Does as the tool's name says.
fn desk() -> Desk {
    Desk::new(|run: Run| async move {
        match &*run.params.name {
            "fatal" => Err(Failure::fatal("the shelf is gone").into()),
            "slow" => {
                tokio::time::sleep(SLOW).await;
                ok("in time")
            }
            "endless" => {
                tokio::time::sleep(HOUR).await;
                ok("too late")
            }
            "refused_once" if run.number == 1 => {
                Err(Failure::rate_limited(Some(Duration::from_secs(1)))
                    .before_running()
                    .into())
            }
            "refused" => Err(Failure::rate_limited(Some(Duration::from_secs(30)))
                .before_running()
                .into()),
            _ => ok("fine"),
        }
    })
}

/// The line of a call that was cut off.
fn cut_off() -> Value {
    json!({
        "level": "WARN", "tool": "endless", "outcome": "failed", "is_error": true, "attempts": 1,
        "class": "unavailable", "delivery": "unknown", "retry_stopped": "may_have_run",
    })
}

/// The line of a call that came too late.
fn refused() -> Value {
    json!({
        "level": "WARN", "outcome": "failed", "is_error": true, "retried": false, "attempts": 1,
        "class": "unavailable", "delivery": "not_sent", "retry_stopped": "not_ready",
        "error": "the server is shutting down",
    })
}

type Answer = Result<CallToolResult, ServiceError>;

/// Calls a tool, and waits until it runs.
async fn begin(
    client: &RunningService<RoleClient, ()>,
    server: &Resilient<Desk>,
    tool: &'static str,
) -> JoinHandle<Answer> {
    let attempts = server.handler().attempts();
    let before = attempts.so_far().len();
    let client = client.peer().clone();
    let answer = tokio::spawn(async move { client.call_tool(call(tool)).await });
    while attempts.so_far().len() == before {
        tokio::task::yield_now().await;
    }
    answer
}

type Stuck = Pin<Box<dyn Future<Output = Result<CallToolResponse, ErrorData>> + Send>>;

/// A call that has begun and is not polled any more, as if a handler blocks its thread.
async fn stuck(server: &Resilient<Desk>) -> Stuck {
    let context = RequestContext::new(NumberOrString::Number(1), peer().await);
    let server = server.clone();
    let mut calling: Stuck =
        Box::pin(async move { server.call_tool(call("endless"), context).await });
    let mut cx = Context::from_waker(Waker::noop());
    assert!(calling.as_mut().poll(&mut cx).is_pending(), "it runs");
    calling
}

/// A client as a context has one. Nobody speaks to it.
async fn peer() -> Peer<RoleServer> {
    let (near, far) = tokio::io::duplex(1 << 12);
    let (server, client) = tokio::join!(desk().serve(far), ().serve(near));
    client.unwrap();
    server.unwrap().peer().clone()
}
