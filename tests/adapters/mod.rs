//! What each adapter promises, over raw JSON-RPC. The test binary of each adapter includes this suite;
//! its `sdk.rs` builds the servers.

mod evidence;
mod hints;
mod interim;
mod panics;
mod shared;
mod thrown;

use crate::support::{Log, Raw, preset, settings};
use mcp_resilience::{
    Failure, ResilienceLayer, classify::ClassifyLayer, failure::RpcError, rmcp::AnyError,
};
use serde_json::{Value, json};
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};
use tower::BoxError;

/// An SDK and its adapter.
pub(crate) trait Adapter {
    /// The error that a handler of this SDK returns.
    type Error: From<Failure> + From<AnyError> + Send + 'static;
    /// A server in a preset. Its clones share the stack.
    type Server;

    /// The SDK's own JSON-RPC error.
    fn rpc_error(error: RpcError) -> Self::Error;

    /// A server with one tool.
    fn server(tool: Tool<Self::Error>, preset: &ResilienceLayer) -> Self::Server;

    /// A server with one read-only tool, and the parameters of a call of it. The answer is neither a success
    /// nor a failure.
    fn interim(name: &'static str, preset: &ResilienceLayer) -> (Self::Server, Value);

    /// Serves one more client with a clone of the server.
    fn open(server: &Self::Server) -> Raw;
}

/// A tool without annotations and without an `outputSchema`, unless set.
pub(crate) struct Tool<E> {
    pub(crate) name: &'static str,
    pub(crate) is_read_only: bool,
    pub(crate) is_destructive: bool,
    pub(crate) output_schema: Option<Value>,
    pub(crate) run: Arc<dyn Fn() -> Run<E> + Send + Sync>,
    runs: Runs,
}

pub(crate) type Run<E> = Pin<Box<dyn Future<Output = Result<Answer, E>> + Send>>;

/// What a handler returns.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Text(&'static str),
    Flagged(String),
}

const OK: Answer = Answer::Text("fine");

/// The name of the tool in these tests.
const TOOL: &str = "book";

/// Counts the runs of a tool.
#[derive(Clone, Default)]
struct Runs(Arc<AtomicU32>);

impl Runs {
    fn so_far(&self) -> u32 {
        self.0.load(Relaxed)
    }
}

impl<E> Tool<E> {
    /// A handler that gets the number of its run, from 1.
    fn new<F, A>(handler: F) -> Self
    where
        F: Fn(u32) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Answer, E>> + Send + 'static,
    {
        let runs = Runs::default();
        let counted = runs.clone();
        Self {
            name: TOOL,
            is_read_only: false,
            is_destructive: false,
            output_schema: None,
            run: Arc::new(move || Box::pin(handler(counted.0.fetch_add(1, Relaxed) + 1))),
            runs,
        }
    }

    /// A handler that fails each time.
    fn failing(error: impl Fn() -> E + Clone + Send + Sync + 'static) -> Self
    where
        E: 'static,
    {
        Self::new(move |_| {
            let error = error.clone();
            async move { Err(error()) }
        })
    }

    fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    fn destructive(mut self) -> Self {
        self.is_destructive = true;
        self
    }

    fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }
}

/// A server, its log, and the runs of its tool.
struct Served<A: Adapter> {
    server: A::Server,
    log: Log,
    runs: Runs,
}

impl<A: Adapter> Served<A> {
    fn new(tool: Tool<A::Error>) -> Self {
        Self::with(tool, preset)
    }

    fn with(tool: Tool<A::Error>, preset: impl FnOnce(&Log) -> ResilienceLayer) -> Self {
        let (log, runs) = (Log::default(), tool.runs.clone());
        let server = A::server(tool, &preset(&log));
        Self { server, log, runs }
    }

    fn classifying(tool: Tool<A::Error>, classify: ClassifyLayer) -> Self {
        Self::with(tool, |log| {
            settings(log).classify(classify).build().unwrap()
        })
    }

    /// One more client.
    async fn client(&self) -> Raw {
        let mut client = A::open(&self.server);
        client.initialize().await;
        client
    }

    /// The answer to one call of a new client.
    async fn call(&self) -> Value {
        call(&mut self.client().await).await
    }
}

async fn call(client: &mut Raw) -> Value {
    let params = json!({"name": TOOL, "arguments": {}});
    client.request("tools/call", params).await
}

/// Any error, as `?` passes it on through [`AnyError`].
fn any<E: From<AnyError>>(error: impl Into<BoxError>) -> E {
    AnyError::from(error.into()).into()
}

/// The text of an unflagged result.
#[track_caller]
fn success(answer: &Value) -> &str {
    assert_ne!(answer["result"]["isError"], true, "{answer:#}");
    text(answer)
}

/// The text of a flagged result.
#[track_caller]
fn flagged(answer: &Value) -> &str {
    assert_eq!(answer["result"]["isError"], true, "{answer:#}");
    text(answer)
}

#[track_caller]
fn text(answer: &Value) -> &str {
    let blocks = answer["result"]["content"].as_array();
    assert_eq!(blocks.map(Vec::len), Some(1), "one block: {answer:#}");
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

/// Runs each test for the adapter of this test binary, in paused time.
macro_rules! for_the_adapter {
    ($($test:ident)*) => {
        mod for_the_adapter {
            $(#[tokio::test(start_paused = true)] async fn $test() {
                super::$test::<crate::sdk::Sdk>().await;
            })*
        }
    };
}
use for_the_adapter;
