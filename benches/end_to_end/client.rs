use super::server::COMMAND;
use crate::Fallible;
use rmcp::{
    RoleClient, ServiceExt,
    model::CallToolRequestParams,
    service::RunningService,
    transport::{StreamableHttpClientTransport, async_rw::AsyncRwTransport},
};
use serde_json::json;
use std::{env, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    runtime::Runtime,
    time::Instant,
};

/// A client of a server in another process, which ends with it.
pub(crate) struct Connection {
    client: RunningService<RoleClient, ()>,
    // Killed when it is dropped.
    _server: Child,
    runtime: Runtime,
}

impl Connection {
    pub(crate) fn to_child(arguments: &[&str]) -> Fallible<Self> {
        let runtime = runtime()?;
        let (server, client) = runtime.block_on(async {
            let mut server = start(arguments)?.stdout(Stdio::piped()).spawn()?;
            let stdin = server.stdin.take().ok_or("no stdin")?;
            let stdout = server.stdout.take().ok_or("no stdout")?;
            let transport = AsyncRwTransport::<RoleClient, _, _>::new_client(stdout, stdin);
            Fallible::Ok((server, ().serve(transport).await?))
        })?;
        Ok(Self {
            client,
            _server: server,
            runtime,
        })
    }

    pub(crate) fn over_http(arguments: &[&str]) -> Fallible<Self> {
        let runtime = runtime()?;
        let (server, client) = runtime.block_on(async {
            let mut server = start(arguments)?.stderr(Stdio::piped()).spawn()?;
            let stderr = server.stderr.take().ok_or("no stderr")?;
            let address = BufReader::new(stderr).lines().next_line().await?;
            let url = format!("http://{}/mcp", address.ok_or("no address")?);
            let transport = StreamableHttpClientTransport::from_uri(url);
            Fallible::Ok((server, ().serve(transport).await?))
        })?;
        Ok(Self {
            client,
            _server: server,
            runtime,
        })
    }

    /// How long this many calls take, one after the other.
    pub(crate) fn time(&self, calls: u64) -> Duration {
        self.runtime.block_on(async {
            let begun = Instant::now();
            for _ in 0..calls {
                self.call().await;
            }
            begun.elapsed()
        })
    }

    async fn call(&self) {
        let arguments = json!({"title": "Dune"}).as_object().cloned();
        let call =
            CallToolRequestParams::new("get_author").with_arguments(arguments.unwrap_or_default());
        match self.client.call_tool(call).await {
            Ok(result) if result.is_error != Some(true) => {}
            answer => panic!("no good answer: {answer:?}"),
        }
    }
}

fn runtime() -> Fallible<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    Ok(builder.enable_all().build()?)
}

fn start(arguments: &[&str]) -> Fallible<Command> {
    let mut command = Command::new(env::current_exe()?);
    command
        .arg(COMMAND)
        .args(arguments)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    Ok(command)
}
