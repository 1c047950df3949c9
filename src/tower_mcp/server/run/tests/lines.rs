//! Lines of stdin, and what the log has of them.

use serde_json::json;

/// The revision with batches, and one without.
pub(super) const OLD: &str = "2025-03-26";
pub(super) const NEW: &str = "2025-11-25";

pub(super) fn initialize(revision: &str) -> String {
    let client = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
    let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    format!("{request}\n{initialized}")
}

pub(super) fn call(id: &str, key: &str) -> String {
    let params = format!(r#"{{"name":"book","_meta":{{"idempotencyKey":"{key}"}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

/// A call that declares a revision by itself.
pub(super) fn declares(revision: &str, id: &str, key: &str) -> String {
    let revision = format!(r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{revision}","#);
    call(id, key).replace(r#""_meta":{"#, &revision)
}

const NOTIFICATION: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#;

/// Lines without a call, each of which gets an error.
pub(super) fn batches_and_garbage() -> Vec<String> {
    let ping = declares(NEW, "98", "none").replace("tools/call", "ping");
    let unknown = declares("1999-01-01", "98", "none").replace("tools/call", "ping");
    let lines = [
        "[]",
        "[1]",
        "garbage",
        "[garbage",
        &format!("[{NOTIFICATION}]"),
        &format!("[{ping}]"),
        &format!("[{ping},{NOTIFICATION}]"),
        &format!("[{unknown}]"),
    ];
    lines.map(str::to_owned).to_vec()
}

/// The same, for single messages.
pub(super) fn no_calls() -> Vec<String> {
    let lines = [
        &*declares("1999-01-01", "null", "none").replace("tools/call", "ping"),
        r#"{"jsonrpc":"1.0","id":97,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":97,"id":97,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":97}"#,
    ];
    lines.map(str::to_owned).to_vec()
}

/// What the log has of a line in a session with batches, and in one without.
pub(super) struct Row {
    pub(super) line: String,
    pub(super) old: Vec<&'static str>,
    pub(super) new: Vec<&'static str>,
}

pub(super) fn row(line: impl Into<String>, log: &[&'static str]) -> Row {
    by_revision(line, log, log)
}

fn by_revision(line: impl Into<String>, old: &[&'static str], new: &[&'static str]) -> Row {
    let (line, old, new) = (line.into(), old.to_vec(), new.to_vec());
    Row { line, old, new }
}

pub(super) fn single_rows() -> Vec<Row> {
    let with = |id: &str, member: &str| {
        let id = format!("\"id\":{id}");
        call("0", "k").replace("\"id\":0", &format!("{id},{member}"))
    };
    vec![
        row("", &[]),
        row(call("1", "k"), &["1 ran"]),
        row(format!("\u{feff}{}\u{a0}\r", call("2", "k")), &["2 ran"]),
        row(with("3", r#""other":1,"other":2"#), &["3 ran"]),
        row(with("4", r#""id":4"#), &["4 -32700"]),
        row(with("5", r#""params":{}"#), &["5 -32700"]),
        row(with("6", r#""method":"tools/call""#), &["6 -32700"]),
        row(with("7", r#""jsonrpc":"2.0""#), &["7 -32700"]),
        row(with("8", r#""other":1e400"#), &["8 -32700"]),
        row(with("9", r#""result":{}"#), &["9 -32600"]),
        row(call("10.5", "k"), &["10.5 -32600"]),
        row(call("null", "k"), &["none -32600"]),
        row(call("true", "k"), &["none -32600"]),
        row(
            call("18446744073709551615", "k"),
            &["18446744073709551615 -32600"],
        ),
        row(call("1e400", "k"), &["none -32700"]),
        row(call("0", "k").replace("\"id\":0,", ""), &["none -32600"]),
        row(
            call("11", "k").replace("\"jsonrpc\":\"2.0\",", ""),
            &["11 -32600"],
        ),
        row(call("12", "k").replace("2.0", "1.0"), &["12 -32600"]),
        row(
            call("13", "k")
                .replace("{\"name\"", "[{\"name\"")
                .replace("}}}", "}}]}"),
            &["13 -32602"],
        ),
        row(
            with("14", "\"x\":0").replace("\"params\":{", "\"params\":\"x\",\"y\":{"),
            &["14 -32600"],
        ),
        row(
            format!("\u{feff}\u{feff}{}", call("15", "k")),
            &["15 -32700"],
        ),
        row(format!("{} x", call("16", "k")), &["16 -32700"]),
        row(
            format!("{}{}", call("17", "k"), call("18", "k")),
            &["17 -32700", "18 -32700"],
        ),
        row(format!("{}\0", call("19", "k")), &["19 -32700"]),
        row(
            format!("[2026-12-01] [{},{}", call("42", "k"), call("43", "k")),
            &["42 -32700", "43 -32700"],
        ),
        row(&call("20", "k")[..80], &["20 -32700"]),
        row(call("21", r"\ud800"), &["21 -32700"]),
        row(
            call("22", &"[".repeat(200))
                .replace("\"[", "[")
                .replace("[\"", &"]".repeat(200)),
            &["22 -32700"],
        ),
        row(declares("1999-01-01", "23", "k"), &["23 -32022"]),
        row(declares("1999-01-01", "null", "k"), &["none -32022"]),
    ]
}

pub(super) fn batch_rows() -> Vec<Row> {
    let begins = initialize(OLD);
    let begins = begins.lines().next().unwrap_or_default();
    let no_params = r#"{"jsonrpc":"2.0","id":41,"method":"tools/call"}"#;
    vec![
        by_revision(
            format!("[{},{}]", call("24", "k"), call("25", "l")),
            &["24 ran", "25 ran"],
            &["24 -32600", "25 -32600"],
        ),
        by_revision(
            format!("[{},{NOTIFICATION}]", call("26", "k")),
            &["26 -32700"],
            &["26 -32600"],
        ),
        by_revision(
            format!("[{},{no_params}]", call("27", "k")),
            &["27 -32602", "41 -32602"],
            &["27 -32600", "41 -32600"],
        ),
        row(format!("[{},{begins}]", call("28", "k")), &["28 -32600"]),
        row(format!("[{},1]", call("29", "k")), &["29 -32600"]),
        row(
            format!("[{},{}]", call("30", "k"), call("31", r"\ud800")),
            &["30 -32700", "31 -32700"],
        ),
        row(
            format!(
                "[{},{},{}]",
                call("44", "k"),
                call("1e400", "k"),
                call("45", "k")
            ),
            &["44 -32700", "none -32700", "none -32700"],
        ),
        row(format!("[{}]", declares(OLD, "32", "k")), &["32 ran"]),
        row(format!("[{}]", declares(NEW, "33", "k")), &["33 -32600"]),
        row(
            format!("[{}]", declares("1999-01-01", "34", "k")),
            &["34 -32022"],
        ),
        row(
            format!("[{}]", declares("2026-07-28", "35", "k")),
            &["35 -32022"],
        ),
        row(
            format!(
                "[{},{}]",
                declares(NEW, "36", "k"),
                declares(OLD, "37", "k")
            ),
            &["36 -32600", "37 -32600"],
        ),
    ]
}
