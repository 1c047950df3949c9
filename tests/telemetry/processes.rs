//! A client and a server in two processes: one trace for each call.

use serde_json::Value;
use std::{
    env,
    io::Read,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The spans and the metrics of both processes, as lines.
type Told = (Vec<Value>, Vec<Value>);

/// The spans and metrics that the example `telemetry` writes to stdout.
fn written(arguments: &[&str]) -> Told {
    let output = Command::new(program("telemetry"))
        .args(arguments)
        .env_remove(ENDPOINT)
        .output()
        .unwrap();
    told(&output)
}

/// The spans and metrics that it sends to a collector, as a backend gets them.
fn sent(arguments: &[&str]) -> Option<Told> {
    let collector = Collector::start()?;
    let output = Command::new(program("telemetry"))
        .args(arguments)
        .env(ENDPOINT, &collector.endpoint)
        .output()
        .unwrap();
    let (spans, metrics) = told(&output);
    assert!(spans.is_empty() && metrics.is_empty());
    Some(told(&collector.end()))
}

fn told(output: &Output) -> Told {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let lines = str::from_utf8(&output.stdout).unwrap().lines();
    let lines = lines.map(|line| serde_json::from_str(line).unwrap());
    lines.partition(|line: &Value| line.get("span_id").is_some())
}

/// A collector that others wrote, with a backend behind it.
struct Collector {
    process: Child,
    endpoint: String,
}

impl Collector {
    /// `None` if it is not set up and the gate does not require it.
    fn start() -> Option<Self> {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/telemetry/collector");
        if env::var_os("MCP_RESILIENCE_COLLECTOR").is_none() {
            eprintln!("skipped: set MCP_RESILIENCE_COLLECTOR=required");
            return None;
        }
        let mut setup = Command::new(format!("{here}/setup"));
        let output = setup.stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "no collector");
        let mut process = Command::new(str::from_utf8(&output.stdout).unwrap().trim())
            .arg(format!("{here}/collector.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut endpoint = String::new();
        let stdout = process.stdout.as_mut().unwrap();
        // By single bytes: the rest is read at the end.
        while !endpoint.ends_with('\n') {
            let mut byte = [0];
            stdout.read_exact(&mut byte).expect("no endpoint");
            endpoint.push(byte[0].into());
        }
        endpoint.pop();
        Some(Self { process, endpoint })
    }

    fn end(self) -> Output {
        // Its stdin ends here.
        self.process.wait_with_output().unwrap()
    }
}

/// An example, built beside the tests.
pub(crate) fn program(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let program = profile.join("examples").join(name);
    assert!(
        program.exists(),
        "build the examples: {}",
        program.display()
    );
    program
}

struct Trace<'a>(Vec<&'a Value>);

impl<'a> Trace<'a> {
    /// All spans of the trace that begins with this one of the host.
    fn of(spans: &'a [Value], what: &str) -> Self {
        let host = spans
            .iter()
            .find(|span| span["name"] == "host" && span["attributes"]["what"] == what);
        let host = host.unwrap_or_else(|| panic!("no host span {what}"));
        assert_eq!(host["parent_span_id"], Value::Null);
        let of_it = |span: &&Value| span["trace_id"] == host["trace_id"];
        Self(spans.iter().filter(of_it).collect())
    }

    fn children(&self, parent: &Value) -> Vec<&'a Value> {
        let of_it = |span: &&&Value| span["parent_span_id"] == parent["span_id"];
        self.0.iter().filter(of_it).copied().collect()
    }

    #[track_caller]
    fn only_child(&self, parent: &Value) -> &'a Value {
        let children = self.children(parent);
        assert_eq!(children.len(), 1, "of {parent:#}: {:#?}", self.0);
        children[0]
    }

    /// The call of the client.
    fn call(&self) -> &'a Value {
        let host = self.0.iter().find(|span| span["name"] == "host").unwrap();
        let call = self.only_child(host);
        assert_eq!(call["process"], "client");
        assert_eq!(call["kind"], "client");
        call
    }
}

#[track_caller]
fn assert_status(span: &Value, error_type: Option<&str>) {
    let status = if error_type.is_some() {
        "error"
    } else {
        "unset"
    };
    assert_eq!(span["status"], status, "{span:#}");
    let said = span["attributes"].get("error.type").and_then(Value::as_str);
    assert_eq!(said, error_type, "{span:#}");
}

#[test]
fn over_stdio_each_call_is_one_trace() {
    check("pipe", &written(&[]));
}

#[test]
fn over_http_each_call_is_one_trace() {
    check("tcp", &written(&["--http"]));
}

#[test]
fn over_stdio_each_call_is_one_trace_in_a_collector() {
    if let Some(told) = sent(&[]) {
        check("pipe", &told);
    }
}

#[test]
fn over_http_each_call_is_one_trace_in_a_collector() {
    if let Some(told) = sent(&["--http"]) {
        check("tcp", &told);
    }
}

#[test]
fn calls_go_on_while_the_collector_hangs() {
    // Connections are accepted by the system, and nobody reads.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    goes_on(listener.local_addr().unwrap());
    drop(listener);
}

#[test]
fn calls_go_on_while_the_collector_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    goes_on(address);
}

fn goes_on(collector: SocketAddr) {
    let output = Command::new(program("telemetry"))
        .env(ENDPOINT, format!("http://{collector}"))
        .env("OTEL_EXPORTER_OTLP_TIMEOUT", "500")
        .output()
        .unwrap();
    let lines = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{lines}");
    let outcomes = lines.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        Some(line["outcome"].as_str()?.to_owned())
    });
    let outcomes: Vec<_> = outcomes.collect();
    let expected = "success failed failed success failed success failed success";
    assert_eq!(outcomes.join(" "), expected, "{lines}");
}

fn check(transport: &str, (spans, metrics): &Told) {
    for (what, target, error_type) in [
        ("success", "tools/call get_author", None),
        ("flagged", "tools/call get_author", Some("tool_error")),
        (
            "crash",
            "tools/call get_author_unchecked",
            Some("tool_error"),
        ),
        ("repeated", "tools/call quote_price", None),
        ("unknown", "tools/call no_such_tool", Some("-32602")),
        ("resource", "resources/read", None),
        ("prompt", "prompts/get no_such_prompt", Some("-32602")),
    ] {
        let trace = Trace::of(spans, what);
        let call = trace.call();
        assert_eq!(call["name"], target);
        assert_status(call, error_type);
        let attempt = trace.only_child(call);
        assert_eq!(attempt["name"], format!("attempt {target}"));
        assert_eq!(attempt["kind"], "client");
        assert_status(attempt, error_type);
        let told = &attempt["attributes"];
        assert!(told["jsonrpc.request.id"].is_string(), "{attempt:#}");
        assert_eq!(told["network.transport"], transport);
        assert!(told["mcp.protocol.version"].is_string(), "{attempt:#}");
        let is_http = transport == "tcp";
        assert_eq!(told.get("server.address").is_some(), is_http);
        assert_eq!(told.get("server.port").is_some_and(Value::is_i64), is_http);
        assert_eq!(told["mcp_resilience.attempt"], 1);

        let served = trace.only_child(attempt);
        assert_eq!(served["process"], "server");
        assert_eq!(served["kind"], "server");
        assert_eq!(served["name"], target);
        assert_status(served, error_type);
        let by_server = &served["attributes"];
        assert_eq!(by_server["jsonrpc.request.id"], told["jsonrpc.request.id"]);
        assert_eq!(by_server["network.transport"], transport);
        assert_eq!(
            by_server["mcp.protocol.version"],
            told["mcp.protocol.version"]
        );
        assert_eq!(by_server.get("mcp.session.id"), told.get("mcp.session.id"));
        assert_eq!(by_server.get("mcp.session.id").is_some(), is_http);
        // The server repeats by itself.
        let attempts = trace.children(served);
        let wanted = if what == "repeated" { 2 } else { 1 };
        assert_eq!(attempts.len(), wanted, "{what}: {attempts:#?}");
        assert_eq!(by_server["mcp_resilience.attempts"], wanted);
        for attempt in attempts {
            assert_eq!(attempt["kind"], "internal");
        }
    }

    // Killed during an attempt, and repeated on a new connection.
    let trace = Trace::of(spans, "killed");
    let call = trace.call();
    assert_status(call, None);
    let attempts = trace.children(call);
    assert_eq!(attempts.len(), 2, "{attempts:#?}");
    let [lost, repeated] = attempts[..] else {
        unreachable!()
    };
    assert_eq!(lost["status"], "error");
    assert_status(repeated, None);
    assert_ne!(lost["attributes"]["jsonrpc.request.id"], Value::Null);
    let under = trace.children(repeated);
    let served = under.iter().find(|span| span["process"] == "server");
    let served = served.unwrap();
    assert_status(served, None);
    let dial = under.iter().find(|span| span["name"] == "dial");
    let dial = dial.unwrap_or_else(|| panic!("no dial: {under:#?}"));
    assert!(
        dial["end"].as_str() < served["end"].as_str(),
        "{dial:#} {served:#}"
    );
    // The span of the killed server died with it.
    let under = trace.children(lost);
    assert!(under.iter().all(|span| span["process"] == "client"));

    for (process, metric) in [
        ("client", "mcp.client.operation.duration"),
        ("server", "mcp.server.operation.duration"),
        ("client", "mcp_resilience.dials"),
        ("client", "mcp_resilience.connections.lost"),
        ("server", "mcp_resilience.attempts"),
    ] {
        let is_there = |line: &&Value| line["process"] == process && line["metric"] == metric;
        assert!(
            metrics.iter().any(|line| is_there(&line)),
            "{process}: {metric}"
        );
    }
    let unlisted = metrics.iter().any(|line| {
        line["metric"] == "mcp.client.operation.duration"
            && line["attributes"]["gen_ai.tool.name"] == "_other"
    });
    assert!(unlisted, "{metrics:#?}");
}
