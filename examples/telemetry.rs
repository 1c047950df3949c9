//! One trace over two processes: the Bookshop as a child process, and a client that calls it.
//!
//! ```text
//! telemetry [--http]
//! ```
//!
//! Makes one call of each kind. During the last one, the server is killed and started again. If
//! `OTEL_EXPORTER_OTLP_ENDPOINT` is set (`http://127.0.0.1:4318` for a local collector), spans and
//! metrics of both processes go there by OTLP. Otherwise they are JSON lines on stdout. A span has
//! `process`, `trace_id`, `span_id`, `parent_span_id`, `name`, `kind`, `start`, `end`, `status`,
//! `attributes` and `links`. A metric has `process`, `metric`, `attributes` and `value`, or `count` and
//! `sum`. `examples/telemetry/stack` starts a backend that shows the traces.
//!
//! With `--http`, the client and the server talk HTTP on 127.0.0.1 instead of the pipes of the child.

#[path = "telemetry/export.rs"]
mod export;
#[path = "telemetry/serve.rs"]
mod serve;

mod shop;
mod shop_rmcp;

use export::Exporting;
use mcp_resilience::{
    ResilienceLayer,
    call_log::{CallLogLayer, JsonLines, Sink},
    metrics::Metrics,
    observe::{Observer, TracingEvents},
    reconnect::ReconnectLayer,
    rmcp::client::{ChildProcess, Client, Http},
};
use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams};
use serde_json::json;
use std::{env, error::Error, io, path::Path, process::ExitCode, time::Duration};
use tracing::Instrument;

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [] => run(false),
        ["--http"] => run(true),
        ["serve"] => return serve::stdio(),
        ["serve", "--http"] => return serve::http(),
        _ => Err("usage: telemetry [--http]".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(over_http: bool) -> Result<()> {
    let spans = env::temp_dir().join(format!("bookshop-spans-{}.jsonl", std::process::id()));
    let exporting = Exporting::begin("client", export::stdout())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let called = runtime.block_on(call_all(over_http, &exporting, &spans));
    drop(runtime);
    exporting.end();
    // The spans of the servers, including the killed one.
    if let Ok(mut file) = std::fs::File::open(&spans) {
        io::copy(&mut file, &mut io::stdout())?;
        std::fs::remove_file(&spans)?;
    }
    called
}

async fn call_all(over_http: bool, exporting: &Exporting, spans: &Path) -> Result<()> {
    let log = JsonLines::stderr();
    let metrics = Metrics::of_meter(&exporting.meter()).watching(&log);
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::new(log.and(metrics.clone())))
        .observer(TracingEvents.and(metrics))
        .attempt_timeout(Duration::from_secs(20))
        .build()?;
    let shop = Pair::open(over_http, &resilience, spans).await?;
    each_kind(&shop.client).await;
    shop.close().await?;
    // With a server of its own: a process that is killed exports nothing more.
    let mut shop = Pair::open(over_http, &resilience, spans).await?;
    killed(&mut shop).await?;
    shop.close().await
}

/// A client, and the server that it calls.
struct Pair {
    client: Client,
    /// Over stdio, the server belongs to the client.
    http: Option<serve::Child>,
}

impl Pair {
    async fn open(over_http: bool, resilience: &ResilienceLayer, spans: &Path) -> Result<Self> {
        if over_http {
            let server = serve::Child::start(spans).await?;
            // The server comes back at the same address, after a moment.
            let reconnect = ReconnectLayer::builder(()).retry_first_dial().build()?;
            let client = Client::builder(Http::new(server.url()))
                .resilience(resilience.clone())
                .reconnect(reconnect);
            let client = client.connect().await?;
            let http = Some(server);
            return Ok(Self { client, http });
        }
        let server = ChildProcess::new(env::current_exe()?)
            .arg("serve")
            .env(export::FILE, spans);
        let client = Client::builder(server).resilience(resilience.clone());
        let client = client.connect().await?;
        Ok(Self { client, http: None })
    }

    async fn close(self) -> Result<()> {
        self.client.close().await;
        match self.http {
            Some(server) => server.end().await,
            None => Ok(()),
        }
    }
}

/// The calls of a host, each in a span of the host.
async fn each_kind(client: &Client) {
    for (what, tool, arguments) in [
        ("success", "get_author", json!({"title": "Dune"})),
        ("flagged", "get_author", json!({"title": "Nothing"})),
        ("crash", "get_author_unchecked", json!({"title": "Nothing"})),
        (
            "repeated",
            "quote_price",
            json!({"title": "Dune", "refusals": 1, "retry_after": 1}),
        ),
        ("unknown", "no_such_tool", json!({})),
    ] {
        let call = client.call_tool(params(tool, &arguments));
        let called = call.instrument(tracing::info_span!("host", what)).await;
        tracing::debug!(is_ok = called.is_ok(), what);
    }
    let read = client.read_resource(ReadResourceRequestParams::new("books://Dune"));
    drop(
        read.instrument(tracing::info_span!("host", what = "resource"))
            .await,
    );
    let missing = client.get_prompt(GetPromptRequestParams::new("no_such_prompt"));
    drop(
        missing
            .instrument(tracing::info_span!("host", what = "prompt"))
            .await,
    );
}

/// A call during which the server is killed. The tool is read-only, so the call is made again on a new
/// connection.
async fn killed(shop: &mut Pair) -> Result<()> {
    let Pair { client, http } = shop;
    let slow = client.call_tool(params("sleep", &json!({"seconds": 2})));
    let slow = slow.instrument(tracing::info_span!("host", what = "killed"));
    let kill = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        if let Some(server) = http {
            return server.restart().await;
        }
        let id = client.connection().and_then(|server| server.process_id());
        serve::kill(id.ok_or("the server runs no more")?).await
    };
    let (answer, killed) = tokio::join!(slow, kill);
    killed?;
    answer?;
    Ok(())
}

fn params(tool: &str, arguments: &serde_json::Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)
}
