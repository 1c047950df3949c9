//! The Bookshop in another process.

use super::{
    Result,
    export::{self, Exporting},
    shop::{Catalog, Shop},
    shop_rmcp::Bookshop,
};
use mcp_resilience::{
    ResilienceLayer,
    call_log::{CallLogLayer, JsonLines, Sink},
    fatal::{Fatal, startup::OrFatal},
    metrics::Metrics,
    observe::{Observer, TracingEvents},
    rmcp::{Resilient, Stop},
};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::local::LocalSessionManager,
};
use std::{
    env,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
    sync::Arc,
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpListener,
    process::{self, Command},
};

/// The address of the server over HTTP.
const ADDRESS: &str = "BOOKSHOP_ADDRESS";

type Server = Resilient<Bookshop>;

/// Serves on stdin and stdout.
pub(super) fn stdio() -> ExitCode {
    serve(async |server: Server| server.run(rmcp::transport::stdio()).await)
}

/// Serves HTTP on the given port, or on a free one, and prints its address.
pub(super) fn http() -> ExitCode {
    serve(serve_http)
}

fn serve(run: impl AsyncFnOnce(Server) -> Result<(), Fatal>) -> ExitCode {
    match try_serve(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn try_serve(run: impl AsyncFnOnce(Server) -> Result<(), Fatal>) -> Result<()> {
    // stdout carries the protocol.
    let file = env::var_os(export::FILE).unwrap_or_else(|| "/dev/null".into());
    let exporting = Exporting::begin("server", export::file(Path::new(&file))?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let log = JsonLines::stderr();
    let metrics = Metrics::of_meter(&exporting.meter()).watching(&log);
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::new(log.and(metrics.clone())))
        .observer(TracingEvents.and(metrics))
        .build()?;
    let server = Resilient::with_preset(Bookshop::new(Shop::new(Catalog::embedded())), &resilience);
    let end = runtime.block_on(run(server));
    drop(runtime);
    exporting.end();
    Ok(end?)
}

async fn serve_http(server: Server) -> Result<(), Fatal> {
    let address = env::var(ADDRESS).unwrap_or_else(|_| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(&address)
        .await
        .or_fatal(format!("cannot listen on {address}"))?;
    let address = listener.local_addr().or_fatal("no local address")?;
    // The client reads the address from stderr.
    eprintln!("listening on {address}");
    let config = StreamableHttpServerConfig::default();
    let sessions = config.cancellation_token.clone();
    let handler = server.clone();
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let serve = async |shutdown| {
        axum::serve(listener, router)
            .with_graceful_shutdown(shutdown)
            .await
    };
    let sessions_end = move || sessions.cancel();
    server.run_until(Stop::signals(), sessions_end, serve).await
}

/// A server over HTTP, as a child process of the client.
pub(super) struct Child {
    process: process::Child,
    address: SocketAddr,
    spans: PathBuf,
}

impl Child {
    pub(super) async fn start(spans: &Path) -> Result<Self> {
        let (process, address) = spawn(spans, None).await?;
        Ok(Self {
            process,
            address,
            spans: spans.to_owned(),
        })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Kills it, and starts another one at the same address.
    pub(super) async fn restart(&mut self) -> Result<()> {
        self.process.kill().await?;
        (self.process, self.address) = spawn(&self.spans, Some(self.address)).await?;
        Ok(())
    }

    /// Asks the server to shut down, so that its last spans are written.
    pub(super) async fn end(mut self) -> Result<()> {
        if let Some(id) = self.process.id() {
            signal("-TERM", id).await?;
        }
        self.process.wait().await?;
        Ok(())
    }
}

async fn spawn(spans: &Path, at: Option<SocketAddr>) -> Result<(process::Child, SocketAddr)> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["serve", "--http"]).env(export::FILE, spans);
    if let Some(address) = at {
        command.env(ADDRESS, address.to_string());
    }
    let mut process = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stderr = process.stderr.take().ok_or("no stderr")?;
    let mut lines = BufReader::new(stderr).lines();
    let address = loop {
        let line = lines.next_line().await?.ok_or("the server did not start")?;
        if let Some(address) = line.strip_prefix("listening on ") {
            break address.parse()?;
        }
    };
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            eprintln!("{line}");
        }
    });
    Ok((process, address))
}

/// Ends a process at once.
pub(super) async fn kill(id: u32) -> Result<()> {
    signal("-KILL", id).await
}

async fn signal(signal: &str, id: u32) -> Result<()> {
    let status = Command::new("kill")
        .args([signal, &id.to_string()])
        .status()
        .await?;
    if status.success() {
        Ok(())
    } else {
        Err("no such process".into())
    }
}
