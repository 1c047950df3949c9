//! Writes a sample call log of one day to stdout, to try `log_report` and the recipes.
//!
//! ```text
//! sample_log [LINES]
//! ```
//!
//! 10,000 lines by default, the same each time. One tool times out from 03:00 to 04:00, one gets wrong
//! arguments, one is repeated, and some failed calls may have run. No call is made. A real log has the
//! same fields and schema.

use serde_json::{Map, Value, json};
use std::{
    env,
    io::{self, BufWriter, Write},
};

/// The generator of Knuth's MMIX, so that the lines are the same on each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        let (factor, more) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        self.0 = self.0.wrapping_mul(factor).wrapping_add(more);
        (self.0 >> 33) % limit
    }
}

fn main() -> io::Result<()> {
    let lines = env::args().nth(1).map_or(Ok(10_000), |text| text.parse());
    let lines: u64 = lines.map_err(io::Error::other)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut random = Random(42);
    for number in 0..lines {
        // Spread over one day.
        let second = number * 86_400 / lines.max(1);
        let line = line(number, second, &mut random);
        writeln!(out, "{}", Value::Object(line))?;
    }
    out.flush()
}

/// A call, by its number and the second of the day.
fn line(number: u64, second: u64, random: &mut Random) -> Map<String, Value> {
    let titles = ["Dune", "Emma", "Ubik", "Solaris"];
    let title = titles[usize::try_from(random.below(4)).unwrap_or(0)];
    let (tool, arguments, latency_ms, more) = match random.below(100) {
        0..40 => (
            "get_author",
            json!({"title": title}),
            2 + random.below(20),
            success(),
        ),
        40..60 => sync_orders(second / 3600, random),
        60..75 => find_edition(title, random),
        75..90 => quote_price(title, random),
        _ => reserve(title, random),
    };
    let id = random.below(1 << 31) << 20 | number;
    let mut line = json!({
        "timestamp": timestamp(second, random),
        "level": if more["outcome"] == "failed" { "WARN" } else { "INFO" },
        "event": "call",
        "method": "tools/call",
        "tool": tool,
        "arguments": arguments,
        "attempts": 1,
        "retried": false,
        "latency_ms": latency_ms,
        "waited_ms": 0,
        "call_id": format!("{id:016x}"),
        "request_id": number,
    });
    if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
        line.extend(more);
    }
    match line {
        Value::Object(line) => line,
        _ => Map::new(),
    }
}

/// A tool, its arguments, the latency in milliseconds, and other fields of the line.
type Call = (&'static str, Value, u64, Value);

fn timestamp(second: u64, random: &mut Random) -> String {
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let millisecond = random.below(1000);
    format!(
        "2026-11-30T{hour:02}:{minute:02}:{:02}.{millisecond:03}Z",
        second % 60
    )
}

fn success() -> Value {
    json!({"outcome": "success", "is_error": false})
}

fn failed(class: &str, delivery: &str, error: &str) -> Value {
    json!({
        "outcome": "failed", "is_error": true, "class": class, "delivery": delivery, "error": error,
    })
}

/// Times out at night.
fn sync_orders(hour: u64, random: &mut Random) -> Call {
    let arguments = json!({"shop": 7});
    if hour == 3 && random.below(10) < 7 {
        let error = "no answer within the attempt timeout of 60 s";
        return (
            "sync_orders",
            arguments,
            60_000,
            failed("timeout", "unknown", error),
        );
    }
    ("sync_orders", arguments, 200 + random.below(800), success())
}

/// Gets strings instead of numbers.
fn find_edition(title: &str, random: &mut Random) -> Call {
    if random.below(10) < 4 {
        let year = if random.below(3) == 0 { "" } else { "1965" };
        let arguments = json!({"title": title, "year": year});
        let why = failed("invalid_input", "executed", "year: expected a number");
        return ("find_edition", arguments, 1, why);
    }
    let arguments = json!({"title": title, "year": 1965});
    ("find_edition", arguments, 30 + random.below(90), success())
}

/// Is refused sometimes, and repeated.
fn quote_price(title: &str, random: &mut Random) -> Call {
    let arguments = json!({"title": title});
    if random.below(4) > 0 {
        return ("quote_price", arguments, 20 + random.below(60), success());
    }
    let wait = 1000 + random.below(500);
    let repeated = json!({
        "outcome": "success",
        "is_error": false,
        "attempts": 2,
        "retried": true,
        "waited_ms": wait,
        "retries": [{"class": "rate_limited", "code": "rate_limited", "wait_ms": wait}],
    });
    ("quote_price", arguments, wait + 40, repeated)
}

/// Loses its connection sometimes, and is not repeated.
fn reserve(title: &str, random: &mut Random) -> Call {
    let arguments = json!({"title": title, "customer": "Ada"});
    match random.below(10) {
        0 => {
            let error = "the connection was lost: connection reset by peer";
            let mut lost = failed("connection", "unknown", error);
            lost["retry_stopped"] = json!("may_have_run");
            ("reserve", arguments, 900, lost)
        }
        1 => ("reserve", arguments, 300, json!({"outcome": "cancelled"})),
        _ => ("reserve", arguments, 80 + random.below(40), success()),
    }
}
