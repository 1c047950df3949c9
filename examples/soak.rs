//! Calls a server that is killed at random moments, and counts the outcomes.
//!
//! ```text
//! cargo build --release --features rmcp-client-http --examples
//! target/release/examples/soak [--http] [--calls N] [--callers N] [--kills N]
//! ```
//!
//! The server is the example `hostile`, whose ledger has each run. Every call has its own key, and half
//! of the calls go to a tool that must not run twice. Meanwhile the client lists, reads and pings, and
//! is subscribed to a resource. Fails with exit code 1 if a call is lost or never ends, if a tool runs
//! twice that must not, if the subscription is not restored, or if processes, file descriptors or
//! memory leak. It prints its figures. Processes and memory are read from `/proc`, so only on Linux.

#[path = "soak/mod.rs"]
mod parts;

use clap::Parser;
use mcp_resilience::{
    Failure, ResilienceLayer,
    backoff::Backoff,
    call_log::{CallLogLayer, Record, Sink},
    reconnect::ReconnectLayer,
    rmcp::client::{ChildProcess, Client, Http},
};
use parts::{
    Answer, Fallible, Figures, Ledger, Options, SHELF, Server, Starts, Usage, ask, program, say,
};
use rmcp::model::{CallToolRequestParams, CallToolResponse, SubscribeRequestParams};
use serde_json::{Value, json};
use std::{
    process::{Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

#[tokio::main]
async fn main() -> ExitCode {
    match soak(Options::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("cannot soak: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn soak(options: Options) -> Fallible<bool> {
    let ledger = Ledger::new()?;
    let server = options.http.then(|| Server::start(&ledger)).transpose()?;
    let log = Arc::new(Log::default());
    let client = connect(&ledger, server.as_ref(), &log).await?;
    let kept = server.map(|server| tokio::spawn(server.keep()));

    client.subscribe(SubscribeRequestParams::new(SHELF)).await?;
    let is_over = Arc::new(AtomicBool::new(false));
    let asking = tokio::spawn(ask(client.clone(), Arc::clone(&is_over)));
    let done = Arc::new(AtomicUsize::new(0));
    let killing = tokio::spawn(kill(options, ledger.clone(), Arc::clone(&done)));
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..options.callers {
        let (client, done) = (client.clone(), Arc::clone(&done));
        let calls = (caller..options.calls).step_by(options.callers);
        callers.spawn(async move {
            // Allocated first, so that it does not count as growth.
            let mut answers = vec![Answer::default(); calls.len()];
            for (answer, n) in answers.iter_mut().zip(calls) {
                *answer = call(&client, n).await;
                done.fetch_add(1, Relaxed);
            }
            answers
        });
    }
    let mut early = None;
    while done.load(Relaxed) < options.calls {
        if early.is_none() && done.load(Relaxed) > options.calls / 5 {
            early = Some(Usage::now());
        }
        sleep(Duration::from_millis(20)).await;
    }
    let end = Usage::now();
    let answers: Vec<_> = callers.join_all().await.into_iter().flatten().collect();
    let lasted = begun.elapsed();
    is_over.store(true, Relaxed);
    let others = asking.await?;
    let kills = killing.await??;
    let generation = client.handle().generation();
    client.close().await;
    if let Some(kept) = kept {
        kept.abort();
        let _ = kept.await;
    }
    let figures = Figures {
        options,
        answers,
        lasted,
        kills,
        generation,
        lines: log.0.load(Relaxed),
        others,
        is_subscribed: ledger.is_subscribed()?,
        ran: ledger.ran()?,
        early: early.unwrap_or_default(),
        end,
        left: Usage::now(),
    };
    ledger.remove()?;
    Ok(figures.report())
}

async fn connect(
    ledger: &Ledger,
    server: Option<&Server>,
    log: &Arc<Log>,
) -> Result<Client, Failure> {
    let resilience = ResilienceLayer::builder()
        .attempt_timeout(Duration::from_secs(10))
        .log(CallLogLayer::new(Arc::clone(log)))
        .build()
        .map_err(Failure::crash)?;
    // Short waits, because the server dies often.
    let backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(200));
    let reconnect = ReconnectLayer::builder(()).backoff(backoff.map_err(Failure::crash)?);
    let reconnect = reconnect.build().map_err(Failure::crash)?;
    if let Some(server) = server {
        let builder = Client::builder(Http::new(&*server.url));
        return builder
            .resilience(resilience)
            .reconnect(reconnect)
            .connect()
            .await;
    }
    let child = ChildProcess::new(program())
        .arg("--ledger")
        .arg(&*ledger.path);
    let builder = Client::builder(child.args(["--life", "3600", "--resource"]));
    builder
        .resilience(resilience)
        .reconnect(reconnect)
        .connect()
        .await
}

async fn call(client: &Client, key: usize) -> Answer {
    let must_not_run_twice = key.is_multiple_of(2);
    let tool = if must_not_run_twice { "book" } else { "look" };
    // Some calls are slow, so that the server dies while they run.
    let late = json!({"kind": "late", "seconds": f64::from(rand::random::<u8>()) / 50_000.0});
    let arguments = json!({"key": key.to_string(), "fault": late, "times": 1000});
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let begun = Instant::now();
    let call = CallToolRequestParams::new(tool).with_arguments(arguments);
    let failure = match client.call_tool(call).await {
        Ok(CallToolResponse::Complete(result)) if result.is_error == Some(true) => {
            let code = result
                .structured_content
                .as_ref()
                .map(|failure| &failure["code"]);
            Some(code.unwrap_or(&Value::Null).to_string())
        }
        Ok(_) => None,
        Err(failure) => Some(failure.to_string()),
    };
    Answer {
        key,
        must_not_run_twice,
        took: begun.elapsed(),
        failure,
    }
}

/// Kills the server at random moments, evenly over the calls.
async fn kill(options: Options, ledger: Ledger, done: Arc<AtomicUsize>) -> Fallible<usize> {
    let mut starts = Starts::of(&ledger)?;
    let mut last = None;
    for kill in 1..=options.kills {
        let due = kill * options.calls / (options.kills + 1);
        while done.load(Relaxed) < due {
            sleep(Duration::from_micros(200)).await;
        }
        sleep(Duration::from_micros(u64::from(rand::random::<u16>()) / 20)).await;
        // Skip a process that is already dead.
        let id = loop {
            let id = starts.last()?;
            if id.is_some() && id != last {
                break id;
            }
            sleep(Duration::from_millis(1)).await;
        };
        last.clone_from(&id);
        let id = id.unwrap_or_default();
        Command::new("kill")
            .args(["-9", &id])
            .stderr(Stdio::null())
            .status()?;
    }
    Ok(options.kills)
}

/// Counts the lines of the log.
#[derive(Default)]
struct Log(AtomicU64);

impl Sink for Log {
    fn write(&self, _: &Record<'_>) {
        self.0.fetch_add(1, Relaxed);
    }
}
