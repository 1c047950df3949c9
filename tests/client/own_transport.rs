//! Connections over transports of the user.

use crate::support::{
    Log, MS, SECOND, Scripted, reconnect, resilience, retry, scripted::status, within,
};
use mcp_resilience::{
    Class, Failure,
    rmcp::client::{Client, Connector, line_transport, transport_fn},
};
use rmcp::{
    ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
    transport::{
        AuthClient, AuthorizationManager, CredentialStore, InMemoryCredentialStore,
        StreamableHttpClientTransport,
        async_rw::AsyncRwTransport,
        auth::{AuthError, StoredCredentials},
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::json;
use std::{
    env, fs,
    future::pending,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};
use tokio::{
    io::{DuplexStream, Empty, duplex, split},
    net::{UnixListener, UnixStream},
    task::JoinHandle,
    time::sleep,
};

type Pipe = AsyncRwTransport<RoleClient, Empty, Empty>;

/// A server in this process with one tool that may run twice, and that hangs on request.
#[derive(Clone, Default)]
struct Inside {
    ran: Arc<AtomicUsize>,
    serving: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Inside {
    fn start(&self) -> DuplexStream {
        let (ours, theirs) = duplex(4096);
        let server = self.clone();
        let serving = tokio::spawn(async move {
            let running = server.serve(theirs).await.unwrap();
            let _ = running.waiting().await;
        });
        self.serving.lock().unwrap().push(serving);
        ours
    }

    fn kill(&self) {
        for serving in self.serving.lock().unwrap().drain(..) {
            serving.abort();
        }
    }
}

impl ServerHandler for Inside {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::default();
        config.capabilities = ServerCapabilities::builder().enable_tools().build();
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut look = Tool::new("look", "looks", Arc::new(serde_json::Map::new()));
        look.annotations = Some(ToolAnnotations::new().read_only(true));
        Ok(ListToolsResult::with_all_items(vec![look]))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let is_first = self.ran.fetch_add(1, SeqCst) == 0;
        if is_first
            && call
                .arguments
                .is_some_and(|arguments| arguments.contains_key("hang"))
        {
            pending::<()>().await;
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("seen")]).into())
    }
}

fn builder<C: Connector>(
    connector: C,
    log: &Log,
) -> mcp_resilience::rmcp::client::ClientBuilder<C> {
    Client::builder(connector)
        .resilience(resilience(log, retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap())
}

/// A call that hangs, a server that dies, and what becomes of them.
async fn dies_in_mid_call(connector: impl Connector, server: &Inside) {
    let log = Log::default();
    let client = within("a connection", builder(connector, &log).connect());
    let client = client.await.unwrap();
    assert_eq!(client.tools().unwrap()[0].name, "look");
    let hangs = json!({"hang": true}).as_object().cloned().unwrap();
    let call = CallToolRequestParams::new("look").with_arguments(hangs);
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool(call).await }
    });
    within("the call at the server", async {
        while server.ran.load(SeqCst) == 0 {
            sleep(MS).await;
        }
    })
    .await;
    server.kill();
    let answer = within("an answer", calling).await.unwrap().unwrap();
    assert!(matches!(answer, CallToolResponse::Complete(result) if result.is_error != Some(true)));
    assert_eq!(client.handle().generation(), 2);
    assert_eq!(log.line()["attempts"], 2);
    within("the close", client.close()).await;
}

#[tokio::test]
async fn a_pipe_in_memory_gets_the_list_the_log_and_a_connection_that_comes_back() {
    let server = Inside::default();
    let starts = server.clone();
    let connector = transport_fn(move || {
        let (reader, writer) = split(starts.start());
        async move { Ok::<_, io::Error>(line_transport(reader, writer)) }
    });
    dies_in_mid_call(connector, &server).await;
}

#[tokio::test]
async fn a_connection_over_a_transport_of_rmcp_comes_back() {
    let server = Inside::default();
    let starts = server.clone();
    let connector = transport_fn(move || {
        let (reader, writer) = split(starts.start());
        async move { Ok::<_, io::Error>(AsyncRwTransport::new_client(reader, writer)) }
    });
    dies_in_mid_call(connector, &server).await;
}

#[tokio::test]
async fn so_does_rmcps_client_of_oauth() {
    let server = Scripted::start(|seen, _| {
        let token = seen.headers.get("authorization");
        let is_good = token.is_some_and(|token| token == "Bearer good");
        (!is_good).then(|| status(401))
    });
    let server = server.await;
    let store = InMemoryCredentialStore::new();
    let token = json!({"access_token": "good", "token_type": "bearer"});
    let token = serde_json::from_value(token).unwrap();
    let stored = StoredCredentials::new("agent".to_owned(), Some(token), Vec::new(), None);
    store.save(stored).await.unwrap();
    let url: Arc<str> = server.url.as_str().into();
    let connector = transport_fn(move || {
        let (store, url) = (store.clone(), Arc::clone(&url));
        async move {
            let mut manager = AuthorizationManager::new(&*url).await?;
            manager.set_credential_store(store);
            let client = AuthClient::new(reqwest::Client::new(), manager);
            let config = StreamableHttpClientTransportConfig::with_uri(url);
            Ok::<_, AuthError>(StreamableHttpClientTransport::with_client(client, config))
        }
    });
    let log = Log::default();
    let client = within("a connection", builder(connector, &log).connect());
    let client = client.await.unwrap();
    client.call("look", json!({})).await.unwrap();
    assert_eq!(log.line()["outcome"], "success");
    client.reconnect().await.unwrap();
    client.call("look", json!({})).await.unwrap();
    assert_eq!(client.handle().generation(), 2);
}

#[tokio::test]
async fn a_unix_socket_is_a_transport() {
    let path = env::temp_dir().join(format!("mcp-resilience-{}.sock", rand::random::<u64>()));
    let listener = UnixListener::bind(&path).unwrap();
    let server = Inside::default();
    let accepting = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        server.serve(stream).await.unwrap().waiting().await.unwrap();
    });
    let socket = path.clone();
    let connector = transport_fn(move || {
        let socket = socket.clone();
        async move {
            let (reader, writer) = UnixStream::connect(socket).await?.into_split();
            Ok::<_, io::Error>(line_transport(reader, writer))
        }
    });
    let client = builder(connector, &Log::default()).connect().await.unwrap();
    client
        .call_tool(CallToolRequestParams::new("look"))
        .await
        .unwrap();
    within("the close", client.close()).await;
    within("the end of the server", accepting).await.unwrap();
    fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_function_that_fails_hangs_or_panics_fails_the_dial_with_its_reason() {
    async fn failure(connector: impl Connector) -> Failure {
        let client = builder(connector, &Log::default()).connect();
        within("the end of the dial", client).await.unwrap_err()
    }
    let gone = || io::Error::new(io::ErrorKind::NotFound, "no socket here");
    let own = || Failure::unauthorized("log in first");
    let failures = [
        (
            failure(transport_fn(move || async move { Err::<Pipe, _>(gone()) })).await,
            "no socket here",
        ),
        (
            failure(transport_fn(move || async move { Err::<Pipe, _>(own()) })).await,
            "log in first",
        ),
        (
            failure(transport_fn(pending::<Result<Pipe, io::Error>>).start_timeout(SECOND)).await,
            "not ready within 1s; to allow more, raise `start_timeout`",
        ),
        (
            failure(transport_fn(|| async {
                assert!(env::args().count() == 0, "a bug");
                Err::<Pipe, _>(io::Error::other(""))
            }))
            .await,
            "panicked",
        ),
    ];
    for (failure, reason) in failures {
        assert_eq!(failure.class(), Class::Fatal);
        let chain = failure.chain().to_string();
        assert!(chain.contains(reason), "{chain}");
    }
}
