//! One call of each kind, and what the model, the host and the log see of it.
//!
//! ```text
//! cargo run --example quickstart
//! ```
//!
//! A real rmcp client and the wrapped Bookshop, over a pipe in memory.
#![expect(
    clippy::print_stdout,
    reason = "no protocol runs over stdout here: it is for whoever looks on"
)]

mod shop;
mod shop_rmcp;

use mcp_resilience::{
    ResilienceLayer,
    backoff::Backoff,
    call_log::{CallLogLayer, Record, Sink},
    classify::silence_panics,
    retry::RetryLayer,
    rmcp::Resilient,
};
use rmcp::{
    ServiceError, ServiceExt,
    model::{CallToolRequestParams, CallToolResult, ReadResourceRequestParams},
    service::RunningService,
};
use serde_json::{Value, json};
use shop::{Catalog, Shop};
use shop_rmcp::Bookshop;
use std::{error::Error, time::Duration};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::timeout,
};

type Client = RunningService<rmcp::RoleClient, ()>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // One of the tools panics on purpose. Its panic message is only in the log line.
    silence_panics();

    let (sink, mut log) = unbounded_channel();
    let resilience = ResilienceLayer::builder()
        .attempt_timeout(Duration::from_millis(300))
        .retry(
            RetryLayer::builder()
                .backoff(Backoff::new(
                    Duration::from_millis(50),
                    Duration::from_secs(1),
                )?)
                .build()?,
        )
        .log(CallLogLayer::new(Lines(sink)))
        .build()?;

    // A server adds this line.
    let server = Resilient::with_preset(Bookshop::new(Shop::new(Catalog::embedded())), &resilience);

    let (server_end, client_end) = tokio::io::duplex(64 * 1024);
    let server = tokio::spawn(server.run(server_end));
    let client = ().serve(client_end).await?;

    let show = &mut Show {
        client,
        log: &mut log,
    };
    show.call("A success", "get_author", json!({"title": "Dune"}))
        .await;
    show.call(
        "A tool's own error: the model corrects itself",
        "get_author",
        json!({"title": "Nothing"}),
    )
    .await;
    show.call(
        "A secret in the arguments: masked in the log, also where the error quotes it",
        "get_author",
        json!({"title": "https://emma:swordfish@books.example/Dune"}),
    )
    .await;
    show.call(
        "Bad arguments, refused by the SDK",
        "get_author",
        json!({"title": 5}),
    )
    .await;
    show.call(
        "A deliberate protocol error: the host handles it",
        "get_author_strict",
        json!({"title": "Nothing"}),
    )
    .await;
    show.call(
        "An error that nobody foresaw: its text stays in the log, without the password in it",
        "get_author_unchecked",
        json!({"title": "Nothing"}),
    )
    .await;
    show.call(
        "A panic: the same, and the server goes on",
        "recommend",
        json!({}),
    )
    .await;
    show.call(
        "A rate limit: waited out, never earlier than asked",
        "quote_price",
        json!({"title": "Dune", "refusals": 2, "retry_after": 0.2}),
    )
    .await;
    show.call(
        "Refused before it ran: repeated",
        "reserve",
        json!({"title": "Dune", "fail": "refused"}),
    )
    .await;
    show.call(
        "Lost after it ran: not repeated",
        "reserve",
        json!({"title": "Dune", "fail": "lost"}),
    )
    .await;
    show.call(
        "Too slow: read-only, so it was tried three times",
        "sleep",
        json!({"seconds": 10}),
    )
    .await;
    show.read("A resource that does not exist", "books://Nothing")
        .await;
    show.read(
        "A resource that fails: nothing but its URI leaves the server",
        "books://Broken",
    )
    .await;
    show.cancel("The caller hangs up", "sleep", json!({"seconds": 10}))
        .await;
    show.call("Fatal: no later call could succeed", "shelve", json!({}))
        .await;

    println!("\nThe server has ended: {:?}", server.await?.err());
    println!("In `main`, that is exit code 1, with the reason on stderr.");
    Ok(())
}

struct Show<'a> {
    client: Client,
    log: &'a mut UnboundedReceiver<String>,
}

impl Show<'_> {
    async fn call(&mut self, what: &str, tool: &'static str, arguments: Value) {
        println!("\n--- {what}\n    {tool} {arguments}");
        match self.client.call_tool(request(tool, &arguments)).await {
            Ok(result) => print_result(&result),
            Err(error) => print_error(&error),
        }
        self.print_line().await;
    }

    async fn read(&mut self, what: &str, uri: &str) {
        println!("\n--- {what}\n    resources/read {uri}");
        let request = ReadResourceRequestParams::new(uri);
        if let Err(error) = self.client.read_resource(request).await {
            print_error(&error);
        }
        self.print_line().await;
    }

    async fn cancel(&mut self, what: &str, tool: &'static str, arguments: Value) {
        println!("\n--- {what}\n    {tool} {arguments}");
        // Dropping the call sends `notifications/cancelled`.
        let call = self.client.call_tool(request(tool, &arguments));
        if timeout(Duration::from_millis(100), call).await.is_err() {
            println!("    no answer: the caller hung up");
        }
        self.print_line().await;
    }

    async fn print_line(&mut self) {
        if let Some(line) = self.log.recv().await {
            println!("    the log says     {line}");
        }
    }
}

fn request(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

fn print_result(result: &CallToolResult) {
    let flag = match result.is_error {
        Some(true) => "isError",
        _ => "ok",
    };
    let texts = result.content.iter().filter_map(|block| block.as_text());
    for text in texts {
        println!("    the model sees   [{flag}] {}", text.text);
    }
}

fn print_error(error: &ServiceError) {
    match error {
        ServiceError::McpError(error) => {
            let data = error.data.as_ref().map(|data| format!(" {data}"));
            println!(
                "    the host sees    json-rpc error {}: {}{}",
                error.code.0,
                error.message,
                data.unwrap_or_default()
            );
        }
        error => println!("    the host sees    {error}"),
    }
}

/// A sink that sends the lines to the printer.
struct Lines(UnboundedSender<String>);

impl Sink for Lines {
    fn write(&self, record: &Record<'_>) {
        // The receiver is dropped at the end.
        let _ = self.0.send(record.to_json());
    }
}
