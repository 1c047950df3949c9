//! Makes one call to any MCP server, with all layers around it.
//!
//! ```text
//! call [OPTIONS] TOOL [JSON-ARGUMENTS] -- COMMAND [ARGS…]
//! call [OPTIONS] --url URL TOOL [JSON-ARGUMENTS]
//! call [OPTIONS] --list|--resources|--templates|--prompts|--read URI [--url URL | -- COMMAND [ARGS…]]
//! ```
//!
//! The result is printed as JSON on stdout, on one line with `--json`. Log and progress go to stderr.
//! The exit code tells the kind of result:
//!
//! | | |
//! |---|---|
//! | 0 | a result, or a list |
//! | 1 | a flagged result |
//! | 2 | a JSON-RPC error, on stderr |
//! | 3 | no server: why, and its last words, on stderr |
//! | 4 | the server does not list what is asked for: why, on stderr |
//! | 64 | bad usage |
//! | 129, 130, 143 | ended by SIGHUP, SIGINT (Ctrl-C) or SIGTERM |
//!
//! After a signal, the call is cancelled and its log line is written. The server gets 1 s to exit by
//! itself. Then it is killed with all processes that it started. A second signal kills it at once.

#[path = "call/output.rs"]
mod output;
#[path = "call/progress.rs"]
mod progress;
#[path = "call/signals.rs"]
mod signals;
#[path = "call/tool_timeout.rs"]
mod tool_timeout;

use clap::{CommandFactory, Parser, error::ErrorKind};
use mcp_resilience::{
    ResilienceLayer,
    policy::{Policies, Policy},
    reconnect::ReconnectLayer,
    retry::RetryLayer,
    rmcp::client::{ChildProcess, Client, Http},
};
use output::{Output, complain};
use rmcp::model::{JsonObject, ReadResourceRequestParams};
use serde_json::Value;
use signals::Signals;
use std::{env, error::Error, process::ExitCode, time::Duration};
use tokio::{runtime, time};
use tool_timeout::ToolTimeout;

/// Makes one call to an MCP server, and prints the result as JSON
#[derive(Parser)]
#[command(name = "call", version)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
struct Options {
    /// Timeout in seconds for the start of the server, and for one attempt without progress
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
    timeout: Duration,
    /// Timeout in seconds for one attempt at this tool without progress. May be repeated; the last
    /// one for a tool counts
    #[arg(long, value_name = "NAME=SECONDS")]
    tool_timeout: Vec<ToolTimeout>,
    /// Timeout in seconds for the whole call without progress. Default: 55, or more if a
    /// `--tool-timeout` needs it
    #[arg(long, value_name = "S", value_parser = seconds)]
    deadline: Option<Duration>,
    /// Number of attempts, if the call may be repeated
    #[arg(long, value_name = "N", default_value = "3")]
    max_attempts: u32,
    /// The tool may run twice
    #[arg(long)]
    repeat_ok: bool,
    /// List the tools with their annotations and schemas
    #[arg(long, group = "instead")]
    list: bool,
    /// List the resources
    #[arg(long, group = "instead")]
    resources: bool,
    /// List the templates of resources
    #[arg(long, group = "instead")]
    templates: bool,
    /// List the prompts
    #[arg(long, group = "instead")]
    prompts: bool,
    /// Read the resource with this URI
    #[arg(long, value_name = "URI", group = "instead")]
    read: Option<String>,
    /// A header of each HTTP request. May be repeated
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// The environment variable with the bearer token for an HTTP server
    #[arg(long, value_name = "NAME")]
    bearer_env: Option<String>,
    /// An environment variable of the server process. May be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Show the progress of the call on stderr: a bar on a terminal, else lines
    #[arg(long)]
    progress: bool,
    /// Print JSON on one line
    #[arg(long)]
    json: bool,
    /// The URL of an HTTP server, instead of a command
    #[arg(long)]
    url: Option<String>,
    /// The name of the tool
    tool: Option<String>,
    /// The arguments, a JSON object
    #[arg(value_name = "JSON-ARGUMENTS")]
    arguments: Option<String>,
    /// The command that starts a server over stdio
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The task of this run.
struct Task {
    job: Job,
    server: Server,
    output: Output,
    has_progress: bool,
    resilience: ResilienceLayer,
    reconnect: ReconnectLayer<()>,
    repeat_ok: bool,
}

enum Job {
    Call(String, Value),
    List,
    Resources,
    Templates,
    Prompts,
    Read(String),
}

enum Server {
    Command(ChildProcess),
    Url(Http),
}

const FLAGGED: u8 = 1;
const REJECTED: u8 = 2;
const NO_SERVER: u8 = 3;
const NO_LIST: u8 = 4;
const USAGE: u8 = 64;

/// The default deadline of the call.
const DEADLINE: Duration = Duration::from_secs(55);

/// How long the server may take to exit by itself after a signal.
const GRACE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&format!("error: no runtime: {error}"));
            return ExitCode::from(NO_SERVER);
        }
    };
    let code = runtime.block_on(run());
    // Ending the tasks kills a server that still runs. Do not wait for a DNS lookup, which may take
    // long.
    runtime.shutdown_timeout(Duration::from_millis(100));
    ExitCode::from(code)
}

async fn run() -> u8 {
    // Listen before starting a process that a signal would leave behind.
    let signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            complain(&format!("error: cannot listen to signals: {error}"));
            return NO_SERVER;
        }
    };
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => {
            // If stderr is closed, the error cannot be shown.
            let _ = error.print();
            if error.kind() == ErrorKind::UnknownArgument {
                complain("The server's command and its arguments stand at the end, after `--`.");
            }
            let is_asked = matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            );
            return if is_asked { 0 } else { USAGE };
        }
    };
    match options.task() {
        Ok(task) => task.run(signals).await,
        Err(problem) => {
            let usage = Options::command().render_usage();
            complain(&format!("error: {problem}\n\n{usage}"));
            USAGE
        }
    }
}

impl Options {
    fn task(self) -> Result<Task, Box<dyn Error>> {
        let given = arguments(self.arguments)?;
        let server = match (self.url, self.command.split_first()) {
            (Some(_), Some(_)) => return Err("give a url or a command, and not both".into()),
            (None, None) => {
                let needed = "no server: give `--url URL`, or `-- COMMAND` at the end";
                return Err(match self.tool {
                    Some(tool) => {
                        format!("{needed}; if `{tool}` is the command, put `--` before it")
                    }
                    None => needed.to_owned(),
                }
                .into());
            }
            (Some(url), None) => {
                if !url.starts_with("http://") && !url.starts_with("https://") {
                    let problem = "the url must begin with `http://` or `https://`";
                    return Err(format!("{problem}, and `{url}` does not").into());
                }
                if !self.env.is_empty() {
                    return Err("`--env` is for a command".into());
                }
                let mut server = Http::new(url).start_timeout(self.timeout);
                for (name, value) in self.header {
                    server = server.header(name, value);
                }
                if let Some(name) = self.bearer_env {
                    let token = env::var(&name).ok().filter(|token| !token.is_empty());
                    let token = token.ok_or_else(|| format!("the variable `{name}` is not set"))?;
                    server = server.bearer(token);
                }
                Server::Url(server)
            }
            (None, Some((program, arguments))) => {
                if !self.header.is_empty() || self.bearer_env.is_some() {
                    return Err("`--header` and `--bearer-env` are for a url".into());
                }
                let server = ChildProcess::new(program).args(arguments).envs(self.env);
                Server::Command(server.start_timeout(self.timeout))
            }
        };
        let job = match self.tool {
            Some(_) if self.list => return Err("`--list` takes no tool".into()),
            Some(_) if self.resources || self.templates || self.prompts || self.read.is_some() => {
                return Err("give a tool, or something else to do, and not both".into());
            }
            Some(tool) => Job::Call(tool, given),
            None if self.list => Job::List,
            None if self.resources => Job::Resources,
            None if self.templates => Job::Templates,
            None if self.prompts => Job::Prompts,
            None => match self.read {
                Some(uri) => Job::Read(uri),
                None => return Err("no tool: name one, or give `--list`".into()),
            },
        };
        let deadline = self.deadline.unwrap_or(DEADLINE);
        let retry = RetryLayer::builder()
            .max_attempts(self.max_attempts)
            .deadline(deadline)
            .build()?;
        let mut policies = Policies::new();
        for tool in self.tool_timeout {
            let mut policy = Policy::new().attempt_timeout(tool.limit);
            if self.deadline.is_none() && tool.limit > deadline {
                policy = policy.deadline(tool.limit.saturating_add(DEADLINE));
            }
            policies = policies.tool(tool.name, policy);
        }
        let attempt = self.timeout.min(deadline.mul_f64(0.9));
        let resilience = ResilienceLayer::builder()
            .retry(retry)
            .policies(policies)
            .attempt_timeout(attempt)
            .build()?;
        let dial = self.timeout.saturating_add(Duration::from_secs(1));
        let reconnect = ReconnectLayer::builder(()).dial_timeout(dial);
        Ok(Task {
            job,
            server,
            output: Output {
                is_short: self.json,
            },
            has_progress: self.progress,
            resilience,
            reconnect: reconnect.build()?,
            repeat_ok: self.repeat_ok,
        })
    }
}

fn arguments(text: Option<String>) -> Result<Value, String> {
    let Some(text) = text else {
        return Ok(Value::Null);
    };
    let arguments: JsonObject = serde_json::from_str(&text).map_err(|error| {
        format!(
            "the arguments are not a json object: {error}; if `{text}` is the server's command, put `--` before it"
        )
    })?;
    Ok(Value::Object(arguments))
}

impl Task {
    async fn run(self, mut signals: Signals) -> u8 {
        let sink = self.resilience.log_sink();
        let client = self.client();
        let code = tokio::select! {
            code = self.make(&client) => Ok(code),
            code = signals.next() => Err(code),
        };
        // A call that a signal ended has been dropped, which wrote its line.
        if let Some(sink) = sink {
            sink.flush(Duration::from_secs(1));
        }
        let limit = if code.is_ok() { Duration::MAX } else { GRACE };
        tokio::select! {
            _ = time::timeout(limit, client.close()) => code.unwrap_or_else(|signal| signal),
            signal = signals.next() => signal,
        }
    }

    /// The client, without a connection yet.
    fn client(&self) -> Client {
        let (resilience, reconnect) = (self.resilience.clone(), self.reconnect.clone());
        match &self.server {
            Server::Command(server) => {
                let builder = Client::builder(server.clone());
                builder.resilience(resilience).reconnect(reconnect).build()
            }
            Server::Url(server) => {
                let builder = Client::builder(server.clone());
                builder.resilience(resilience).reconnect(reconnect).build()
            }
        }
    }

    async fn make(&self, client: &Client) -> u8 {
        if let Err(failure) = client.handle().connect().await {
            complain(&format!("no server: {}", failure.chain()));
            return NO_SERVER;
        }
        match &self.job {
            Job::Call(tool, arguments) => {
                let mut call = client.call(tool.clone(), arguments.clone());
                if self.repeat_ok {
                    call = call.repeat_ok(true);
                }
                if self.has_progress {
                    call = call.on_progress(progress::shown());
                }
                let answer = call.response().await;
                if self.has_progress {
                    progress::end();
                }
                self.output.answer(answer)
            }
            Job::List => {
                if let Some(why) = client.catalog().incomplete() {
                    complain(&format!("warning: the list may be incomplete: {why}"));
                }
                self.output.list(client.tools().as_deref())
            }
            Job::Resources => self.output.list(client.list_resources().await.as_deref()),
            Job::Templates => {
                let templates = client.list_resource_templates().await;
                self.output.list(templates.as_deref())
            }
            Job::Prompts => self.output.list(client.list_prompts().await.as_deref()),
            Job::Read(uri) => {
                let read = client.read_resource(ReadResourceRequestParams::new(uri));
                self.output.read(read.await)
            }
        }
    }
}

fn header(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once(':').ok_or("write it as `NAME: VALUE`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn variable(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("write it as `NAME=VALUE`")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|limit| !limit.is_zero())
        .ok_or("give a number of seconds above 0")
}
