//! Answers questions from a call log: which tools fail, how, when, and with which arguments.
//!
//! ```text
//! log_report [--format table|json|html] [FILE]...
//! ```
//!
//! Reads the lines of `CallLogLayer` from the files, or from stdin without any, in bounded memory.
//! Other lines (broken, of another program, reports of lost lines) are counted and skipped. An
//! incomplete last line is not an error, since the file may still be written.
//!
//! | | |
//! |---|---|
//! | per tool | calls, success, failures by class, repeats, p50, p95 and p99 of the latency (within 2 %), waited time |
//! | by hour of day, in UTC | calls and failures, of all and of each tool, so that a daily window stands out |
//! | arguments that fail validation | for each tool, the most frequent keys and shapes of calls that failed as `invalid_input` |
//! | calls of unknown outcome | those that may have run although they failed |
//!
//! `html` is one page without scripts, in light and dark mode.

#[path = "log_report/counts.rs"]
mod counts;
#[path = "log_report/frequent.rs"]
mod frequent;
#[path = "log_report/html.rs"]
mod html;
#[path = "log_report/line.rs"]
mod line;
#[path = "log_report/quantiles.rs"]
mod quantiles;
#[path = "log_report/read.rs"]
mod read;
#[path = "log_report/report.rs"]
mod report;
#[path = "log_report/table.rs"]
mod table;

use clap::{Parser, ValueEnum};
use std::{
    hint::black_box,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

/// Answers questions from a call log
#[derive(Debug, Parser)]
struct Options {
    /// The format of the report on stdout
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Parse the lines and report nothing, for benchmarks
    #[arg(long, hide = true)]
    only_read: bool,
    /// Files of JSON lines. Default: stdin
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Table,
    Json,
    Html,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of stdout has gone away.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<()> {
    if options.only_read {
        return read::all(&options.files, |text| {
            black_box(serde_json::from_slice::<line::Line<'_>>(text).ok());
        });
    }
    let mut counts = counts::Counts::default();
    read::all(&options.files, |text| counts.add(text))?;
    let report = report::Report::of(&counts);
    let text = match options.format {
        Format::Table => table::of(&report),
        Format::Json => {
            let mut json = serde_json::to_string_pretty(&report).map_err(io::Error::other)?;
            json.push('\n');
            json
        }
        Format::Html => html::page(&report),
    };
    io::stdout().lock().write_all(text.as_bytes())
}
