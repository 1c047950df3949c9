use serde_json::Value;
use std::{env, fs, path::PathBuf};

#[expect(
    clippy::print_stdout,
    reason = "the table is what the benchmark is for"
)]
/// Prints each row of a group as a ratio to one of them, from criterion's own estimates.
pub(crate) fn print(group: &str, baseline: &str) {
    let directory = results().join(group.replace(['/', ':'], "_"));
    let mut rows: Vec<(String, f64)> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let directory = entry.ok()?.path().join("new");
            let read = |file| -> Option<Value> {
                serde_json::from_slice(&fs::read(directory.join(file)).ok()?).ok()
            };
            let name = read("benchmark.json")?["function_id"].as_str()?.to_owned();
            let nanos = read("estimates.json")?["median"]["point_estimate"].as_f64()?;
            Some((name, nanos))
        })
        .collect();
    rows.sort_by(|one, other| one.1.total_cmp(&other.1));
    let Some(unit) = rows.iter().find(|row| row.0 == baseline).map(|row| row.1) else {
        return;
    };
    println!("\n{:<18} {:>9} {:>7}", "median", "ns/call", "ratio");
    for (name, nanos) in rows {
        println!("{name:<18} {nanos:>9.1} {:>7.2}", nanos / unit);
    }
}

/// Where criterion leaves its results.
fn results() -> PathBuf {
    if let Some(home) = env::var_os("CRITERION_HOME") {
        return home.into();
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    target.join("criterion")
}
