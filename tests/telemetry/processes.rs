//! A client and a server in two processes: one trace for each call.

use serde_json::Value;
use std::{env, path::PathBuf, process::Command};

/// The output of the example `telemetry`: the spans and the metrics of both processes.
fn written(arguments: &[&str]) -> (Vec<Value>, Vec<Value>) {
    let output = Command::new(program("telemetry"))
        .args(arguments)
        .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.partition(|line: &Value| line.get("span_id").is_some())
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
    check("pipe", &[]);
}

#[test]
fn over_http_each_call_is_one_trace() {
    check("tcp", &["--http"]);
}

fn check(transport: &str, arguments: &[&str]) {
    let (spans, metrics) = written(arguments);
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
        let trace = Trace::of(&spans, what);
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
    let trace = Trace::of(&spans, "killed");
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
    assert_status(served.unwrap(), None);
    assert!(
        under.iter().any(|span| span["name"] == "dial"),
        "{under:#?}"
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
