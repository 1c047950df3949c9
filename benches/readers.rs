//! The cost of reading results: flagged ones by the length of their text, and unflagged ones
//! compared with not reading them.
//!
//! ```text
//! cargo bench --bench readers
//! ```
//!
//! Making and dropping a result is not measured, handing it on is. The tables at the end are the
//! result: what is compared is measured in turns, so that a busy machine slows both alike.
//! Nanoseconds are the machine's.

#[path = "readers/answer.rs"]
mod answer;
#[path = "readers/row.rs"]
mod row;
#[path = "readers/table.rs"]
mod table;

use answer::{Answer, Tool};
use criterion::Criterion;
use mcp_resilience::{classify::ClassifyLayer, is_error::IsErrorLayer};
use row::Row;
use serde_json::{Value, json};
use std::time::Duration;
use table::Pair;
use tower::Layer;

const SHORT: usize = 4 * 1024;
const LONG: usize = 1024 * 1024;

fn main() {
    let one = |text: String| vec![text];
    let mut flagged = [
        by_length("prose", |bytes| {
            one("the row is not there. ".repeat(bytes / 22))
        }),
        by_length("an SDK's text", |bytes| {
            let prose = "the row is not there. ".repeat(bytes / 22);
            one(format!("Error executing tool search: {prose}"))
        }),
        by_length("no JSON after all", |bytes| {
            one(format!("{{{}", "x".repeat(bytes)))
        }),
        by_length("an envelope", |bytes| one(envelope(bytes))),
        by_length("an envelope in each of its blocks", |bytes| {
            let blocks = bytes.div_ceil(4 * 1024);
            vec![envelope(bytes / blocks); blocks]
        }),
        by_length("a name without an end", |bytes| {
            one(format!("Error executing tool {}", "x".repeat(bytes)))
        }),
        by_length("digits without an end", |bytes| one("1".repeat(bytes))),
        by_length("blanks in front", |bytes| {
            one(format!("{}x", " ".repeat(bytes)))
        }),
        by_length("blanks at the end", |bytes| {
            one(format!("x{}", " ".repeat(bytes)))
        }),
    ];
    let members: serde_json::Map<String, Value> = (0..20)
        .map(|number| (format!("column_{number}"), json!(number)))
        .collect();
    let rows = Value::Object(members);
    let country = json!({"code": "DE", "name": "Germany", "message": "found"});
    let mut unflagged = [
        looking("IsError", "a text", None),
        looking("IsError", "20 members", Some(rows.clone())),
        looking("IsError", "a code of its own", Some(country.clone())),
        classified("a text", None),
        classified("20 members", Some(rows)),
        classified("a code of its own", Some(country)),
        whole_layer(),
    ];

    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    let mut group = criterion.benchmark_group("readers");
    for pair in flagged.iter_mut().chain(&mut unflagged) {
        for row in pair.rows() {
            let name = row.name().to_owned();
            group.bench_function(name, |bencher| {
                bencher.iter_custom(|calls| row.time(calls));
            });
        }
    }
    group.finish();
    criterion.final_summary();
    // Where it is only tried out, as a test, there is nothing to compare.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    table::print_ratios("flagged, 1 MB to 4 KiB", &mut flagged);
    table::print_differences("unflagged, looked at or not", &mut unflagged);
}

fn envelope(bytes: usize) -> String {
    let filling = "x".repeat(bytes);
    json!({"code": "rate_limited", "error": filling, "retryAfter": 5}).to_string()
}

/// A flagged result with texts of either length in all.
fn by_length(name: &str, texts: impl Fn(usize) -> Vec<String>) -> Pair {
    let row = |bytes: usize, length: &str| {
        let answer = Answer::flagged(texts(bytes));
        let service = ClassifyLayer::new().layer(Tool);
        Row::from_afar(format!("{name}, {length}"), service, answer)
    };
    Pair::new(name, row(SHORT, "4 KiB"), row(LONG, "1 MB"))
}

/// An unflagged result, trusted or looked into.
fn looking(layer: &str, name: &str, structured: Option<Value>) -> Pair {
    let answer = Answer::unflagged(structured);
    let trusting = IsErrorLayer::new().trust_unflagged().layer(Tool);
    let looking = IsErrorLayer::new().layer(Tool);
    let row = |what: &str| format!("{layer}, {name}, {what}");
    Pair::new(
        &format!("{layer}: {name}"),
        Row::new(row("trusted"), trusting, answer.clone()),
        Row::new(row("looked into"), looking, answer),
    )
}

/// An unflagged result beside one that is let pass unseen.
fn classified(name: &str, structured: Option<Value>) -> Pair {
    let answer = Answer::unflagged(structured);
    let row = |what: &str, answer| {
        let service = ClassifyLayer::new().layer(Tool);
        Row::new(format!("Classify, {name}, {what}"), service, answer)
    };
    Pair::new(
        &format!("Classify: {name}"),
        row("passed", answer.clone().interim()),
        row("looked at", answer),
    )
}

/// The whole layer, including the look at the result.
fn whole_layer() -> Pair {
    let answer = Answer::unflagged(None);
    let layered = ClassifyLayer::new().layer(Tool);
    Pair::new(
        "all of Classify, or no layer",
        Row::new("bare".to_owned(), Tool, answer.clone()),
        Row::new("Classify".to_owned(), layered, answer),
    )
}
