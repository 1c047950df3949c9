//! The example `log_report`, and its sample log.

use crate::{processes::program, support::schema};
use serde_json::{Value, json};
use std::{
    io::Write,
    process::{Command, Stdio},
};

fn sample(lines: &str) -> Vec<u8> {
    let output = Command::new(program("sample_log")).arg(lines).output();
    output.unwrap().stdout
}

/// The report for a log on stdin.
fn report(format: &str, log: &[u8]) -> String {
    let mut child = Command::new(program("log_report"))
        .args(["--format", format])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(log).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_sample_is_a_log_by_the_schema() {
    let log = String::from_utf8(sample("2000")).unwrap();
    assert_eq!(log.lines().map(schema::line).count(), 2000);
}

#[test]
fn a_daily_window_bad_arguments_and_unknown_outcomes_are_answered() {
    let answer: Value = serde_json::from_str(&report("json", &sample("10000"))).unwrap();
    assert_eq!(answer["lines"], 10_000);
    assert_eq!(answer["broken"], 0);
    let tool = |name: &str| {
        let tools = answer["tools"].as_array().unwrap().iter();
        tools
            .clone()
            .find(|tool| tool["name"] == name)
            .unwrap()
            .clone()
    };
    let orders = tool("sync_orders");
    assert_eq!(orders["worst_hour_utc"], 3);
    let timeouts = orders["failures_by_class"]["timeout"].as_u64().unwrap();
    assert_eq!(orders["hours_utc"][3]["failed"], timeouts);
    let editions = tool("find_edition");
    let shape = &editions["invalid_arguments"][0];
    assert_eq!(shape["arguments"], "{title: string, year: string}");
    assert!(tool("quote_price")["repeats"].as_u64().unwrap() > 100);
    assert!(tool("quote_price")["waited_ms"].as_u64().unwrap() > 100_000);
    let unknown = answer["unknown_outcome"]["calls"].as_u64().unwrap();
    assert!(unknown > timeouts);
    assert_eq!(
        answer["unknown_outcome"]["last"].as_array().unwrap().len(),
        20
    );
    let sums = ["success", "failed", "cancelled", "interim"].map(|key| {
        let tools = answer["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool[key].as_u64().unwrap()).sum::<u64>()
    });
    assert_eq!(sums.iter().sum::<u64>(), 10_000);
}

#[test]
fn broken_and_other_lines_are_counted_and_skipped() {
    let good = json!({
        "timestamp": "2026-11-30T10:00:00.000Z", "level": "INFO", "event": "call", "method": "tools/call",
        "tool": "<script>alert(1)</script>", "outcome": "failed", "is_error": true, "class": "tool",
        "delivery": "unknown", "error": "<img src=x>\u{1b}[2J", "attempts": 1, "retried": false,
        "latency_ms": 7, "waited_ms": 0, "call_id": "0123456789abcdef",
    });
    let lost = json!({"timestamp": "2026-11-30T10:00:00.000Z", "level": "WARN", "event": "lines_lost", "lost": 3});
    let mut log =
        format!("{good}\nno json\n{{\"event\":\"other\",\"timestamp\":\"x\"}}\n{lost}\n\n");
    let endless = "x".repeat(1 << 20);
    for part in ["{\"long\":\"", &endless, "\"}\n"] {
        log.push_str(part);
    }
    log.push_str(&good.to_string()[..40]);
    let mut log = log.into_bytes();
    log.extend(b"\n\xff\xfe\n");
    let answer: Value = serde_json::from_str(&report("json", &log)).unwrap();
    assert_eq!(answer["total"]["calls"], 1);
    assert_eq!(answer["broken"], 4);
    assert_eq!(answer["other"], 1);
    assert_eq!(answer["lost"], 3);

    let page = report("html", &log);
    assert!(
        !page.contains("<script") && !page.contains("<img"),
        "{page}"
    );
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "{page}"
    );
    let table = report("table", &log);
    assert!(!table.contains('\u{1b}'), "{table}");
    assert!(report("table", b"").contains("no calls"));
}
