//! Simulates the outage of a server, and compares how retry strategies of its clients affect it.
//!
//! ```text
//! outage [--seed N] [--out DIR] [--refusal-cost SHARE] [--check]
//! ```
//!
//! A simulation in paused time that takes seconds. The same seed gives the same figures. The server
//! answers with the envelope of a real one, and clients call it 40 times a second for 150 s. It has a
//! quota for each window of 5 s, and its `retryAfter` is the time until the next window:
//!
//! | Seconds | The server |
//! |---|---|
//! | 0 to 20 | takes 1.5 times what is offered |
//! | 20 to 50 | fails as a whole: `service_unavailable`, without `retryAfter` |
//! | 50 to 80 | takes half of what is offered, and refuses the rest: `rate_limited`, with `retryAfter` |
//! | 80 to 100 | comes back slowly |
//! | 100 to 150 | is as at the begin |
//!
//! A refusal costs a tenth of the work of a served call, which is taken from the next window.
//! `--refusal-cost` changes this share.
//!
//! In the second scenario, 500 clients, each with its own stack, are refused at the same instant with
//! the same `retryAfter` of 5 s. After that, the server accepts every call.
//!
//! # Strategies
//!
//! | | |
//! |---|---|
//! | no retry | |
//! | documented loop | the loop that the documentation of that server shows: 3 attempts, `retryAfter` or 2 s and 4 s |
//! | `tower::retry` | 3 attempts, tower's exponential backoff with its defaults |
//! | tower-resilience | 3 attempts, its exponential backoff with its defaults |
//! | default | the preset of this crate |
//! | no budget, no jitter, no floor | the same without one of its parts; without the floor it does not see `retryAfter` |
//! | shared gate | the same with a `RetryAfterGate` for the server |
//!
//! tower's backoff clones its random number generator for each call, so all calls draw the same waits.
//! tower's retry and tower-resilience's have no budget by default.
//!
//! # Output
//!
//! A table on stdout. `--out` writes `outage.csv`, `seconds.csv`, `herd.csv`, `load.svg` and
//! `success.svg` to a directory. `--check` runs only the strategies with bounds, and exits with 1 if a
//! bound is exceeded.

#[path = "outage/bounds.rs"]
mod bounds;
#[path = "outage/call.rs"]
mod call;
#[path = "outage/csv.rs"]
mod csv;
#[path = "outage/figures.rs"]
mod figures;
#[path = "outage/loops.rs"]
mod loops;
#[path = "outage/plot.rs"]
mod plot;
#[path = "outage/random.rs"]
mod random;
#[path = "outage/run.rs"]
mod run;
#[path = "outage/strategy.rs"]
mod strategy;
#[path = "outage/table.rs"]
mod table;
#[path = "outage/upstream.rs"]
mod upstream;

use clap::Parser;
use figures::{Herd, Outage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};
use strategy::Strategy;

/// Simulates the outage of a server and compares retry strategies.
#[derive(Debug, Parser)]
struct Options {
    /// The seed of all random waits
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The directory for CSV files and plots. It is created if it does not exist
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The cost of a refusal as a share of the cost of a served call
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    refusal_cost: f64,
    /// Check the bounds only, and exit with 1 if one is exceeded
    #[arg(long)]
    check: bool,
}

/// The figures of one strategy.
struct Measured {
    strategy: Strategy,
    outage: Outage,
    herd: Herd,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The reader of stdout has gone away.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<bool> {
    let strategies = if options.check {
        bounds::STRATEGIES
    } else {
        &Strategy::ALL[..]
    };
    let bar = bar(strategies.len());
    let mut measured = Vec::new();
    for &strategy in strategies {
        bar.set_message(strategy.name());
        let calls = run::outage(strategy, options.seed, options.refusal_cost, || bar.inc(1))?;
        measured.push(Measured {
            strategy,
            outage: Outage::of(&calls),
            herd: Herd::of(&run::herd(strategy, options.seed)?),
        });
    }
    bar.finish_and_clear();
    let mut out = io::stdout().lock();
    if options.check {
        let (text, is_kept) = bounds::check(&measured);
        out.write_all(text.as_bytes())?;
        return Ok(is_kept);
    }
    out.write_all(table::of(&measured).as_bytes())?;
    if let Some(dir) = &options.out {
        write_files(dir, &measured).map_err(|error| {
            let text = format!("cannot write to {}: {error}", dir.display());
            io::Error::new(error.kind(), text)
        })?;
    }
    Ok(true)
}

fn write_files(dir: &Path, measured: &[Measured]) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join("outage.csv"), csv::outage(measured))?;
    fs::write(dir.join("seconds.csv"), csv::seconds(measured))?;
    fs::write(dir.join("herd.csv"), csv::herd(measured))?;
    fs::write(dir.join("load.svg"), plot::load(measured))?;
    fs::write(dir.join("success.svg"), plot::success(measured))
}

/// A progress bar on a terminal. Hidden elsewhere.
fn bar(strategies: usize) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let steps = u64::try_from(strategies).unwrap_or(u64::MAX) * run::SECONDS;
    let bar = ProgressBar::new(steps);
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    match ProgressStyle::with_template("{bar:40} {pos}/{len} s simulated, {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
