//! How long it takes from a server's death to the next good answer, next to a bare start of the same
//! server: to its handshake, and not even a call.
//!
//! ```text
//! cargo build --release --features rmcp-client-http --examples
//! cargo bench --features rmcp-client-http --bench recovery
//! ```
//!
//! Both are measured in turns in one run, and what counts is the ratio of their medians. The servers are
//! the example `hostile`, and server-everything if `tests/peers/setup` has set it up. Everything has its
//! defaults; the call is made at the moment of the kill, and its tool only reads.

#![allow(clippy::print_stdout, reason = "a table is what it is for")]

use mcp_resilience::{
    ResilienceLayer,
    call_log::CallLogLayer,
    rmcp::client::{ChildProcess, Client},
};
use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, CallToolResponse, JsonObject},
    transport::async_rw::AsyncRwTransport,
};
use serde_json::json;
use std::{
    env,
    error::Error,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{process::Command, time::Instant};

type Fallible<T> = Result<T, Box<dyn Error>>;

struct Server {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    tool: &'static str,
    call: JsonObject,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Fallible<()> {
    // As a test it only has to run.
    let rounds = if env::args().any(|argument| argument == "--bench") {
        30
    } else {
        2
    };
    println!(
        "{:20} {:>12} {:>12} {:>8}",
        "", "bare start", "recovery", "ratio"
    );
    for server in servers()? {
        let (mut bare, mut recovery) = (Vec::new(), Vec::new());
        let client = connect(&server).await?;
        for _ in 0..rounds {
            bare.push(start(&server).await?);
            recovery.push(recover(&client, &server).await?);
        }
        client.close().await;
        let (bare, recovery) = (median(bare), median(recovery));
        let ratio = recovery.as_secs_f64() / bare.as_secs_f64();
        println!(
            "{:20} {bare:>12.2?} {recovery:>12.2?} {ratio:>8.2}",
            server.name
        );
    }
    Ok(())
}

fn servers() -> Fallible<Vec<Server>> {
    let object = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
    let target = env::current_exe()?;
    let profile = target.ancestors().nth(2).ok_or("no target directory")?;
    let hostile = profile
        .join("examples")
        .join(format!("hostile{}", env::consts::EXE_SUFFIX));
    if !hostile.exists() {
        return Err(format!("{} is missing: build the examples first", hostile.display()).into());
    }
    let ledger = env::temp_dir().join(format!("recovery-{}.jsonl", std::process::id()));
    let mut servers = vec![Server {
        name: "hostile",
        program: hostile,
        arguments: vec!["--ledger".to_owned(), ledger.display().to_string()],
        tool: "pid",
        call: JsonObject::new(),
    }];
    let everything = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("target/peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    if everything.exists() {
        servers.push(Server {
            name: "server-everything",
            program: "node".into(),
            arguments: vec![everything.display().to_string()],
            tool: "echo",
            call: object(json!({"message": "hello"})),
        });
    }
    Ok(servers)
}

async fn connect(server: &Server) -> Fallible<Client> {
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .build()?;
    let connector = ChildProcess::new(&server.program).args(&server.arguments);
    let client = Client::builder(connector)
        .resilience(resilience)
        .connect()
        .await?;
    ask(&client, server).await?;
    Ok(client)
}

/// Spawns the server, and shakes hands.
async fn start(server: &Server) -> Fallible<Duration> {
    let begun = Instant::now();
    let mut child = Command::new(&server.program)
        .args(&server.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let stdin = child.stdin.take().ok_or("no stdin")?;
    let stdout = child.stdout.take().ok_or("no stdout")?;
    let transport = AsyncRwTransport::<RoleClient, _, _>::new_client(stdout, stdin);
    let running = ().serve(transport).await?;
    let took = begun.elapsed();
    running.cancel().await?;
    child.kill().await?;
    Ok(took)
}

/// Kills the server of the client, and calls.
async fn recover(client: &Client, server: &Server) -> Fallible<Duration> {
    // A connection is good that gave two answers and is older than the first wait between dials: one that dies
    // sooner, again and again, is dialled with waits. And server-everything announces a change of its tools soon after
    // its start: until the list is read again, no call is made twice.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    ask(client, server).await?;
    client.refresh().await?;
    let connection = client.connection().ok_or("no connection")?;
    let id = connection.process_id().ok_or("no process")?.to_string();
    drop(connection);
    std::process::Command::new("kill")
        .args(["-9", &id])
        .status()?;
    let begun = Instant::now();
    ask(client, server).await?;
    Ok(begun.elapsed())
}

async fn ask(client: &Client, server: &Server) -> Fallible<()> {
    let call = CallToolRequestParams::new(server.tool).with_arguments(server.call.clone());
    match client.call_tool(call).await? {
        CallToolResponse::Complete(result) if result.is_error != Some(true) => Ok(()),
        answer => Err(format!("no good answer: {answer:?}").into()),
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
