//! A call log in rotated files, with `tracing-appender`.
//!
//! ```text
//! rotation DIRECTORY
//! ```
//!
//! Makes some calls, and writes their lines to `DIRECTORY/calls.YYYY-MM-DD.jsonl`. There is a new file
//! each day, and the last seven are kept. Failures go to stderr too.

use mcp_resilience::{
    Failure, ResilienceLayer,
    call::{Flagged, ToolCall, ToolResult},
    call_log::{CallLogLayer, JsonLines, Outcome, Record, Sink},
};
use std::{env, time::Duration};
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tracing_appender::rolling::{RollingFileAppender, Rotation};

#[derive(Clone)]
struct Call(&'static str);

impl ToolCall for Call {
    fn name(&self) -> &str {
        self.0
    }
}

struct Answer {
    is_error: bool,
}

impl ToolResult for Answer {
    fn is_error(&self) -> bool {
        self.is_error
    }

    fn flag(&mut self) {
        self.is_error = true;
    }

    fn from_failure(_: Flagged) -> Option<Self> {
        Some(Self { is_error: true })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let directory = env::args().nth(1).ok_or("usage: rotation DIRECTORY")?;
    let file = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("calls")
        .filename_suffix("jsonl")
        .max_log_files(7)
        .build(directory)?;
    // `JsonLines` has its own thread, so the appender needs none.
    let log = JsonLines::new(file);
    let is_failure = |record: &Record<'_>| record.outcome() == Outcome::Failed;
    let sink = log.clone().and(JsonLines::stderr().filter(is_failure));
    let resilience = ResilienceLayer::builder().log(CallLogLayer::new(sink));

    let tools = service_fn(async |call: Call| match call.0 {
        "get_author" => Ok(Answer { is_error: false }),
        other => Err(Failure::not_found(format!("no tool `{other}`"))),
    });
    let tools = resilience.build()?.layer(tools);
    for tool in ["get_author", "get_publisher", "get_author"] {
        tools.clone().oneshot(Call(tool)).await?;
    }
    drop(tools);
    // Flush before the process ends. Lines that do not fit on the disk are lost and counted.
    log.flush(Duration::from_secs(1));
    eprintln!("{} lines lost", log.lost());
    Ok(())
}
