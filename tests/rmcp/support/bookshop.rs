use super::{Child, Events, Exchange, HttpWire, Lines, Sdk, log_line, log_lines, read, within};
use reqwest::Response;
use serde_json::{Value, json};
use std::{collections::BTreeSet, process::ExitStatus};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{ChildStdin, ChildStdout},
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
};

/// How one talks to a Bookshop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Stdio,
    Http,
}

/// The methods that go through the stack: each such request leaves one line.
const LOGGED: [&str; 3] = ["tools/call", "resources/read", "prompts/get"];

/// A Bookshop in another process, with raw JSON-RPC.
pub(crate) struct Bookshop {
    child: Child,
    // How it introduced itself.
    server: Value,
    line: Line,
    arrivals: UnboundedReceiver<Arrival>,
    // Arrived, and not asked for yet.
    kept: Vec<Arrival>,
    // All received bytes, to check that something is never in them.
    seen: Vec<String>,
    due: BTreeSet<u64>,
    // Lines of calls with ids that are not ours, or none.
    others: usize,
    next_id: u64,
}

enum Line {
    Stdio(ChildStdin),
    Closed,
    Http {
        http: HttpWire,
        arrived: UnboundedSender<Arrival>,
    },
}

enum Arrival {
    Message(String),
    /// There will be no answer to this request any more.
    Never {
        id: u64,
        why: String,
    },
}

impl Bookshop {
    /// One that is initialized and takes calls.
    pub(crate) async fn open(wire: Wire, arguments: &[&str]) -> Self {
        Self::open_with(wire, arguments, &[]).await
    }

    /// The same, with environment variables.
    pub(crate) async fn open_with(
        wire: Wire,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut shop = Self::start(wire, arguments, variables).await;
        shop.initialize("2025-11-25").await;
        shop
    }

    /// One on stdio, in a session of this revision.
    #[allow(dead_code, reason = "the tests for tower-mcp have it")]
    pub(crate) async fn open_revision(revision: &str) -> Self {
        let mut shop = Self::start(Wire::Stdio, &[], &[]).await;
        shop.initialize(revision).await;
        shop
    }

    async fn start(wire: Wire, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut arguments = arguments.to_vec();
        if wire == Wire::Http {
            arguments.extend(["--http", "127.0.0.1:0"]);
        }
        let (mut child, stdin, stdout) = Child::start(&arguments, variables);
        let (arrived, arrivals) = unbounded_channel();
        let line = match wire {
            Wire::Stdio => {
                tokio::spawn(read_stdout(stdout, arrived));
                Line::Stdio(stdin)
            }
            Wire::Http => {
                let url = url(&mut child.stderr).await;
                let http = HttpWire::new(&url);
                // Its stdout is not the transport, but must stay empty too.
                tokio::spawn(read_stdout(stdout, arrived.clone()));
                Line::Http { http, arrived }
            }
        };
        Self {
            child,
            server: Value::Null,
            line,
            arrivals,
            kept: Vec::new(),
            seen: Vec::new(),
            due: BTreeSet::new(),
            others: 0,
            next_id: 1,
        }
    }

    async fn initialize(&mut self, revision: &str) {
        let request = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": revision,
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"},
            },
        });
        match &mut self.line {
            Line::Stdio(_) | Line::Closed => self.write(&request.to_string()).await,
            Line::Http { http, arrived } => {
                let posted = within("a session", http.open(request.to_string())).await;
                for message in posted.messages {
                    arrived.send(Arrival::Message(message)).unwrap();
                }
            }
        }
        let mut answer = self.answer(0).await;
        assert_eq!(answer["result"]["protocolVersion"], revision);
        self.server = answer["result"]["serverInfo"].take();
        self.notify("notifications/initialized", &json!({})).await;
        if let (Line::Http { http, arrived }, Sdk::TowerMcp) = (&self.line, Sdk::here()) {
            // Its reports of progress do not come with the answer.
            let stream = within("a stream", http.listen()).await;
            tokio::spawn(read_stream(stream, arrived.clone()));
        }
    }

    /// How the server introduced itself.
    pub(crate) fn server(&self) -> &Value {
        &self.server
    }

    /// Calls a tool, and waits for its answer and its line.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Exchange {
        let params = json!({"name": tool, "arguments": arguments});
        self.exchange("tools/call", &params).await
    }

    /// Makes a request that goes through the stack.
    pub(crate) async fn exchange(&mut self, method: &str, params: &Value) -> Exchange {
        let id = self.send(method, params).await;
        self.conclude(id).await
    }

    /// Waits for what a request leaves: its answer and its line.
    pub(crate) async fn conclude(&mut self, id: u64) -> Exchange {
        Exchange {
            answer: self.answer(id).await,
            line: self.line(id).await,
        }
    }

    /// Makes a request that does not go through the stack.
    pub(crate) async fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    /// Begins a request, and gives its id. Messages arrive in order, over HTTP too if the answers
    /// are streams.
    pub(crate) async fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.send_text(method, &params.to_string()).await
    }

    /// The same, for parameters that no JSON library would write.
    pub(crate) async fn send_text(&mut self, method: &str, params: &str) -> u64 {
        let id = self.reserve(method);
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        match &self.line {
            Line::Stdio(_) | Line::Closed => self.write(&message).await,
            Line::Http { http, arrived } => {
                let (taken, is_taken) = oneshot::channel();
                tokio::spawn(post(http.clone(), id, message, taken, arrived.clone()));
                // rmcp answers with a stream, which begins before the answer.
                if Sdk::here() == Sdk::Rmcp {
                    // Dropped if the connection fails, so that the waiter gets an error.
                    let _ = within("a response", is_taken).await;
                }
            }
        }
        id
    }

    /// Writes a line on stdin that is a request with the next id, however it is written.
    pub(crate) async fn write_request(
        &mut self,
        method: &str,
        line: impl FnOnce(u64) -> Vec<u8>,
    ) -> u64 {
        let id = self.reserve(method);
        self.write_bytes(&line(id)).await;
        id
    }

    /// The id of a request that is about to be written.
    pub(crate) fn reserve(&mut self, method: &str) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if LOGGED.contains(&method) {
            self.due.insert(id);
        }
        id
    }

    /// Whether a request has to leave a line.
    pub(crate) fn is_due(&self, id: u64) -> bool {
        self.due.contains(&id)
    }

    /// Calls a tool that reports progress when it begins, and waits until it has begun. rmcp
    /// promises no order: an answer to a later call says nothing.
    pub(crate) async fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        let token = self.next_id;
        let params = json!({
            "name": tool, "arguments": arguments, "_meta": {"progressToken": token},
        });
        let id = self.send("tools/call", &params).await;
        let is_progress = move |arrival: &Arrival| match arrival {
            Arrival::Message(text) => message(text)["params"]["progressToken"] == token,
            Arrival::Never { id: never, .. } => *never == id,
        };
        match self.arrival("the begin of a call", is_progress).await {
            Arrival::Message(_) => id,
            Arrival::Never { why, .. } => panic!("{tool} did not begin: {why}"),
        }
    }

    pub(crate) async fn notify(&mut self, method: &str, params: &Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
        match &self.line {
            Line::Stdio(_) | Line::Closed => self.write(&message).await,
            Line::Http { http, .. } => {
                let posted = within("202", http.post(message)).await;
                assert_eq!(posted.status, 202, "{posted:?}");
            }
        }
    }

    /// Any line on stdin.
    pub(crate) async fn write(&mut self, text: &str) {
        self.write_bytes(text.as_bytes()).await;
    }

    async fn write_bytes(&mut self, line: &[u8]) {
        let Line::Stdio(stdin) = &mut self.line else {
            panic!("only stdio has lines");
        };
        let writing = async {
            stdin.write_all(line).await.unwrap();
            stdin.write_all(b"\n").await.unwrap();
            stdin.flush().await.unwrap();
        };
        within("stdin to take a line", writing).await;
    }

    /// The HTTP address, for requests other than MCP.
    pub(crate) fn http(&self) -> &HttpWire {
        match &self.line {
            Line::Http { http, .. } => http,
            Line::Stdio(_) | Line::Closed => panic!("this Bookshop is on stdio"),
        }
    }

    /// The open connection of a silent client: over HTTP, the standing stream.
    pub(crate) async fn listen(&self) -> Option<Response> {
        match &self.line {
            Line::Http { http, .. } => Some(within("a stream", http.listen()).await),
            // Its stdin is open anyway.
            Line::Stdio(_) | Line::Closed => None,
        }
    }

    /// The problem of a request that cannot be read. On stdio it is refused under its id, and leaves
    /// its line; over HTTP the SDK refuses it by its status.
    pub(crate) async fn expect_refused(&mut self, id: u64, problem: &str) {
        if let Line::Http { .. } = self.line {
            return self.expect_unread(id).await;
        }
        let done = self.conclude(id).await;
        let error = done.error();
        assert_eq!(error["code"], -32602, "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(problem), "{message}");
        super::assert_has(
            &done.line,
            &json!({
                "outcome": "failed", "class": "invalid_input", "code": -32602,
                "delivery": "not_sent", "tool": "get_author",
            }),
        );
    }

    /// The SDK could not even read the request: Over HTTP, the status says so.
    async fn expect_unread(&mut self, id: u64) {
        self.expect_no_line(id);
        if let Line::Http { .. } = self.line {
            let is_its = move |arrival: &Arrival| match arrival {
                Arrival::Message(_) => false,
                Arrival::Never { id: never, .. } => *never == id,
            };
            let refusal = self.arrival("a refusal", is_its).await;
            let Arrival::Never { why, .. } = refusal else {
                unreachable!("not wanted");
            };
            assert!(why.starts_with('4'), "refused by its status: {why}");
        }
        // A later answer shows that there is no other for it.
        self.request("ping", &json!({})).await;
        let is_answer = |arrival: &Arrival| match arrival {
            Arrival::Message(text) => message(text)["id"] == id,
            Arrival::Never { .. } => false,
        };
        assert!(!self.kept.iter().any(is_answer), "an answer to {id}");
    }

    /// The request left no trace in the stack, as the SDK refused it.
    pub(crate) fn expect_no_line(&mut self, id: u64) {
        assert!(self.due.remove(&id), "request {id} was not due a line");
    }

    /// The answer to a request.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        let is_wanted = move |arrival: &Arrival| match arrival {
            Arrival::Message(text) => message(text)["id"] == id,
            Arrival::Never { id: never, .. } => *never == id,
        };
        match self
            .arrival(&format!("the answer to {id}"), is_wanted)
            .await
        {
            Arrival::Message(text) => message(&text),
            Arrival::Never { why, .. } => panic!("no answer to {id}: {why}"),
        }
    }

    /// An error that answers no request in particular.
    pub(crate) async fn error_without_id(&mut self) -> Value {
        let is_wanted = |arrival: &Arrival| match arrival {
            Arrival::Message(text) => message(text)["id"].is_null(),
            Arrival::Never { .. } => false,
        };
        match self.arrival("an error without an id", is_wanted).await {
            Arrival::Message(text) => message(&text)["error"].take(),
            Arrival::Never { .. } => unreachable!("not wanted"),
        }
    }

    async fn arrival(&mut self, what: &str, is_wanted: impl Fn(&Arrival) -> bool) -> Arrival {
        if let Some(at) = self.kept.iter().position(&is_wanted) {
            return self.kept.remove(at);
        }
        loop {
            let Some(arrival) = within(what, self.arrivals.recv()).await else {
                panic!("stdout ended before {what}");
            };
            if let Arrival::Message(text) = &arrival {
                self.seen.push(text.clone());
            }
            if is_wanted(&arrival) {
                return arrival;
            }
            self.kept.push(arrival);
        }
    }

    /// The line of a request in the log, once it is there.
    pub(crate) async fn line(&mut self, id: u64) -> Value {
        let is_its = |line: &str| line.starts_with('{') && log_line(line)["request_id"] == id;
        let what = format!("line of request {id}");
        let line = self.child.stderr.first(&what, is_its).await;
        log_line(&line)
    }

    /// The line of the only call of a tool, whose id is not ours.
    #[allow(dead_code, reason = "the tests for tower-mcp have it")]
    pub(crate) async fn line_of_tool(&mut self, tool: &str) -> Value {
        self.others += 1;
        let is_its = |line: &str| line.starts_with('{') && log_line(line)["tool"] == tool;
        let what = format!("line of a call of {tool}");
        log_line(&self.child.stderr.first(&what, is_its).await)
    }

    /// The line of a request, as it stands; it has to be there by now.
    pub(crate) fn line_text(&self, id: u64) -> String {
        let mut lines = self.child.stderr.so_far();
        lines.retain(|line| line.starts_with('{') && log_line(line)["request_id"] == id);
        assert_eq!(lines.len(), 1, "one line of request {id}: {lines:#?}");
        lines.swap_remove(0)
    }

    /// Whether a line of a request is there by now.
    pub(crate) fn has_line(&self, id: u64) -> bool {
        let lines = log_lines(&self.child.stderr.so_far());
        lines.iter().any(|line| line["request_id"] == id)
    }

    /// Fails if any of these texts ever came over the wire.
    #[track_caller]
    pub(crate) fn assert_never_sent(&self, secrets: &[&str]) {
        for text in &self.seen {
            for secret in secrets {
                assert!(!text.contains(secret), "`{secret}` in {text}");
            }
        }
    }

    /// Leaves. The server ends normally, with one line for each call and nothing beside.
    pub(crate) async fn leave(mut self) {
        match self.line {
            Line::Stdio(_) => self.close(),
            Line::Closed => {}
            Line::Http { .. } => self.child.signal("INT"),
        }
        let status = self.child.ended().await;
        assert_eq!(status.code(), Some(0), "leaving is a normal end");
        let lines = self.child.stderr.all().await;
        assert_one_line_each(&lines, &self.due, self.others);
        assert_eq!(beside_the_log(lines), [""; 0]);
    }

    /// Closes its stdin, as a client does that leaves.
    pub(crate) fn close(&mut self) {
        let Line::Stdio(_) = &self.line else {
            panic!("only stdio has a stdin to close");
        };
        self.line = Line::Closed;
    }

    /// Sends it a signal: `INT`, `TERM` or `HUP`.
    pub(crate) fn signal(&self, name: &str) {
        self.child.signal(name);
    }

    /// Waits for the server to end by itself. Returns its exit status, and stderr without the log.
    pub(crate) async fn ended(mut self) -> (ExitStatus, Vec<String>) {
        let status = self.child.ended().await;
        let lines = self.child.stderr.all().await;
        assert_one_line_each(&lines, &self.due, self.others);
        (status, beside_the_log(lines))
    }
}

/// Lines on stderr that are not log lines, without the address of an HTTP server.
fn beside_the_log(mut lines: Vec<String>) -> Vec<String> {
    lines.retain(|line| !line.starts_with('{') && !line.starts_with(LISTENING));
    lines
}

#[track_caller]
fn assert_one_line_each(lines: &[String], due: &BTreeSet<u64>, others: usize) {
    let ids = log_lines(lines)
        .into_iter()
        .map(|line| line["request_id"].as_u64());
    let (mut left, rest): (Vec<_>, Vec<_>) =
        ids.partition(|id| id.is_some_and(|id| due.contains(&id)));
    left.sort_unstable();
    let due: Vec<_> = due.iter().copied().map(Some).collect();
    assert_eq!(left, due, "one line for each request, in {lines:#?}");
    assert_eq!(
        rest.len(),
        others,
        "one line for each other call, in {lines:#?}"
    );
}

const LISTENING: &str = "listening on ";

async fn url(stderr: &mut Lines) -> String {
    let line = stderr
        .first("URL", |line| line.starts_with(LISTENING))
        .await;
    line.trim_start_matches(LISTENING).to_owned()
}

async fn read_stdout(stdout: ChildStdout, arrived: UnboundedSender<Arrival>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if arrived.send(Arrival::Message(line)).is_err() {
            return;
        }
    }
}

async fn read_stream(stream: Response, arrived: UnboundedSender<Arrival>) {
    let Ok(mut events) = Events::of(stream) else {
        return;
    };
    while let Some(message) = events.next().await {
        if arrived.send(Arrival::Message(message)).is_err() {
            return;
        }
    }
}

async fn post(
    http: HttpWire,
    id: u64,
    message: String,
    taken: oneshot::Sender<()>,
    arrived: UnboundedSender<Arrival>,
) {
    let (messages, why) = match http.send(message).await {
        Ok(response) => {
            // The head of a stream comes before the answer in it.
            let _ = taken.send(());
            match Events::of(response) {
                Ok(mut events) => {
                    while let Some(message) = events.next().await {
                        // Who asked may be gone.
                        let _ = arrived.send(Arrival::Message(message));
                    }
                    (Vec::new(), "the stream has ended".to_owned())
                }
                Err(response) => {
                    let posted = read(*response).await;
                    let why = format!("{} {:?}", posted.status, posted.body);
                    (posted.messages, why)
                }
            }
        }
        Err(error) => (Vec::new(), format!("{error:?}")),
    };
    for message in messages {
        // Who asked may be gone.
        let _ = arrived.send(Arrival::Message(message));
    }
    // After the messages: it matters only where the answer is not among them.
    let _ = arrived.send(Arrival::Never { id, why });
}

/// Everything on the wire is a JSON-RPC message.
fn message(text: &str) -> Value {
    let message: Value = serde_json::from_str(text)
        .unwrap_or_else(|error| panic!("the wire carries the protocol alone ({error}): {text}"));
    assert_eq!(message["jsonrpc"], "2.0", "{text}");
    message
}
