//! Makes one call to any MCP server, with all layers around it.
//!
//! ```text
//! call [OPTIONS] TOOL [JSON-ARGUMENTS] -- COMMAND [ARGS…]
//! call [OPTIONS] --url URL TOOL [JSON-ARGUMENTS]
//! call [OPTIONS] --list [--url URL | -- COMMAND [ARGS…]]
//! ```
//!
//! The result is printed as JSON on stdout; the log goes to stderr. The exit code says what it was:
//!
//! | | |
//! |---|---|
//! | 0 | a result |
//! | 1 | a flagged result |
//! | 2 | a JSON-RPC error, on stderr |
//! | 3 | no server: why, and its last words, on stderr |
//! | 64 | bad usage |
//! | 130 | interrupted |

use clap::{CommandFactory, Parser, error::ErrorKind};
use mcp_resilience::{
    Failure, ResilienceLayer,
    call::Hints,
    reconnect::ReconnectLayer,
    retry::RetryLayer,
    rmcp::client::{ChildProcess, Client, Http},
};
use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject, Tool};
use serde_json::{Value, json};
use std::{
    error::Error,
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

/// Makes one call to an MCP server, and prints the result as JSON.
#[derive(Parser)]
#[command(name = "call")]
struct Options {
    /// The longest that the server may take to start, and one attempt to run, in seconds.
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
    timeout: Duration,
    /// The longest that the whole call may take, in seconds.
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "55")]
    deadline: Duration,
    /// How often the call is made, if it may be repeated.
    #[arg(long, value_name = "N", default_value = "3")]
    max_attempts: u32,
    /// Says that the tool may run twice.
    #[arg(long)]
    repeat_ok: bool,
    /// Lists the tools with their annotations instead.
    #[arg(long)]
    list: bool,
    /// The URL of a server over HTTP, instead of a command.
    #[arg(long)]
    url: Option<String>,
    /// The tool.
    tool: Option<String>,
    /// Its arguments, a JSON object.
    #[arg(value_name = "JSON-ARGUMENTS")]
    arguments: Option<String>,
    /// The command that is the server, over stdio.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What is to be done.
struct Task {
    call: Option<CallToolRequestParams>,
    server: Server,
    resilience: ResilienceLayer,
    reconnect: ReconnectLayer<()>,
    timeout: Duration,
    repeat_ok: bool,
}

enum Server {
    Command(Vec<String>),
    Url(String),
}

const FLAGGED: u8 = 1;
const REJECTED: u8 = 2;
const NO_SERVER: u8 = 3;
const USAGE: u8 = 64;
const INTERRUPTED: u8 = 130;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => {
            // Nobody is left to tell that stderr is gone.
            let _ = error.print();
            let is_help = matches!(error.kind(), ErrorKind::DisplayHelp);
            return ExitCode::from(if is_help { 0 } else { USAGE });
        }
    };
    match options.task() {
        Ok(task) => ExitCode::from(task.run().await),
        Err(problem) => {
            let usage = Options::command().render_usage();
            complain(&format!("error: {problem}\n\n{usage}"));
            ExitCode::from(USAGE)
        }
    }
}

impl Options {
    fn task(self) -> Result<Task, Box<dyn Error>> {
        let server = match (self.url, self.command) {
            (Some(url), command) if command.is_empty() => {
                if !url.starts_with("http://") && !url.starts_with("https://") {
                    return Err(format!("`{url}` is no http url").into());
                }
                Server::Url(url)
            }
            (Some(_), _) => return Err("give a url or a command, and not both".into()),
            (None, command) if command.is_empty() => {
                return Err("no server: give `--url URL`, or `-- COMMAND` at the end".into());
            }
            (None, command) => Server::Command(command),
        };
        let call = match (self.list, self.tool) {
            (true, None) => None,
            (true, Some(_)) => return Err("`--list` takes no tool".into()),
            (false, None) => return Err("no tool: name one, or give `--list`".into()),
            (false, Some(tool)) => Some(call(tool, self.arguments)?),
        };
        let retry = RetryLayer::builder()
            .max_attempts(self.max_attempts)
            .deadline(self.deadline)
            .build()?;
        let attempt = self.timeout.min(self.deadline.mul_f64(0.9));
        let resilience = ResilienceLayer::builder()
            .retry(retry)
            .attempt_timeout(attempt)
            .build()?;
        let dial = self.timeout.saturating_add(Duration::from_secs(1));
        let reconnect = ReconnectLayer::builder(()).dial_timeout(dial);
        Ok(Task {
            call,
            server,
            resilience,
            reconnect: reconnect.build()?,
            timeout: self.timeout,
            repeat_ok: self.repeat_ok,
        })
    }
}

fn call(tool: String, arguments: Option<String>) -> Result<CallToolRequestParams, Box<dyn Error>> {
    let call = CallToolRequestParams::new(tool);
    let Some(text) = arguments else {
        return Ok(call);
    };
    let arguments: JsonObject = serde_json::from_str(&text)
        .map_err(|error| format!("the arguments are no json object: {error}"))?;
    Ok(call.with_arguments(arguments))
}

impl Task {
    async fn run(self) -> u8 {
        let sink = self.resilience.log_sink();
        // The server is in a process group of its own: it ends with the client, and not by the signal.
        let code = tokio::select! {
            code = self.connect_and_call() => code,
            _ = tokio::signal::ctrl_c() => INTERRUPTED,
        };
        if let Some(sink) = sink {
            sink.flush(Duration::from_secs(1));
        }
        code
    }

    async fn connect_and_call(self) -> u8 {
        let client = match self.server {
            Server::Command(mut command) => {
                let arguments = command.split_off(1);
                let server = ChildProcess::new(command.remove(0)).args(arguments);
                let builder = Client::builder(server.start_timeout(self.timeout));
                builder
                    .resilience(self.resilience)
                    .reconnect(self.reconnect)
                    .connect()
                    .await
            }
            Server::Url(url) => {
                let builder = Client::builder(Http::new(url).start_timeout(self.timeout));
                builder
                    .resilience(self.resilience)
                    .reconnect(self.reconnect)
                    .connect()
                    .await
            }
        };
        let client = match client {
            Ok(client) => client,
            Err(failure) => {
                complain(&format!("no server: {}", chain(&failure)));
                return NO_SERVER;
            }
        };
        let code = match self.call {
            Some(call) => {
                if self.repeat_ok {
                    client
                        .catalog()
                        .say(&*call.name, Hints::new().idempotent(true));
                }
                answer(client.call_tool(call).await)
            }
            None => list(&client.tools()),
        };
        client.close().await;
        code
    }
}

fn answer(answer: Result<CallToolResponse, Failure>) -> u8 {
    match answer {
        Ok(CallToolResponse::Complete(result)) => {
            let code = if result.is_error == Some(true) {
                FLAGGED
            } else {
                0
            };
            print(&json!(result));
            code
        }
        Ok(CallToolResponse::InputRequired(result)) => {
            print(&json!(result));
            0
        }
        Ok(CallToolResponse::Task(result)) => {
            print(&json!(result));
            0
        }
        Ok(_) => 0,
        Err(failure) => {
            complain(&match failure.rpc_error() {
                Some(error) => format!("error {}: {}", error.code, error.message),
                None => format!("error: {}", chain(&failure)),
            });
            REJECTED
        }
    }
}

fn list(tools: &[Tool]) -> u8 {
    let listed = tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "annotations": tool.annotations,
        })
    });
    print(&Value::Array(listed.collect()));
    0
}

fn print(value: &Value) {
    // Whoever reads may have read enough.
    let _ = writeln!(io::stdout(), "{value:#}");
}

/// In one write: the log has the same stderr.
fn complain(text: &str) {
    // Nobody is left to tell that stderr is gone.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// An error and what caused it, on one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|limit| !limit.is_zero())
        .ok_or("give a number of seconds above 0")
}
