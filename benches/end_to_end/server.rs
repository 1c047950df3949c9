use crate::{
    Fallible,
    shop::{Catalog, Shop},
    shop_rmcp::Bookshop,
};
use mcp_resilience::{
    ResilienceLayer,
    call_log::{CallLogLayer, JsonLines},
    rmcp::Resilient,
};
use rmcp::{
    ServerHandler, ServiceExt,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, stdio,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use std::{fs::File, str::FromStr, sync::Arc};
use tokio::{io::AsyncReadExt, net::TcpListener};

/// The first argument of a server.
pub(crate) const COMMAND: &str = "serve";
/// And its last one.
pub(crate) const STDIO: &str = "stdio";
pub(crate) const HTTP: &str = "http";

/// The stack around the bookshop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stack {
    Bare,
    LogOff,
    LogOn,
}

impl Stack {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::LogOff => "wrapped, log off",
            Self::LogOn => "wrapped, log on",
        }
    }

    fn wrap(self, handler: Bookshop) -> Fallible<Resilient<Bookshop>> {
        let log = match self {
            Self::LogOn => {
                let nowhere = File::options().write(true).open("/dev/null")?;
                CallLogLayer::new(JsonLines::new(nowhere))
            }
            Self::Bare | Self::LogOff => CallLogLayer::off(),
        };
        let preset = ResilienceLayer::builder().log(log).build()?;
        Ok(Resilient::with_preset(handler, &preset))
    }
}

impl FromStr for Stack {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let stacks = [Self::Bare, Self::LogOff, Self::LogOn];
        let found = stacks.into_iter().find(|stack| stack.name() == name);
        found.ok_or_else(|| format!("no such stack: {name}"))
    }
}

/// Serves until stdin ends.
pub(crate) fn run(stack: Stack, is_http: bool) -> Fallible<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let handler = Bookshop::new(Shop::new(Catalog::embedded()));
        match (stack, is_http) {
            (Stack::Bare, false) => {
                handler.serve(stdio()).await?.waiting().await?;
            }
            (_, false) => stack.wrap(handler)?.run(stdio()).await?,
            (Stack::Bare, true) => serve_http(Arc::new(handler)).await?,
            (_, true) => serve_http(stack.wrap(handler)?).await?,
        }
        Ok(())
    })
}

async fn serve_http(handler: impl ServerHandler + Clone) -> Fallible<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("{}", listener.local_addr()?);
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let mut stdin = tokio::io::stdin();
    tokio::select! {
        served = axum::serve(listener, router) => Ok(served?),
        // It ends with the client.
        _ = stdin.read_u8() => Ok(()),
    }
}
