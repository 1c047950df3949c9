//! The parts of the soak test.

mod figures;
mod ledger;
mod others;
mod server;
mod usage;

pub(crate) use self::{
    figures::{Answer, Figures, say},
    ledger::{Ledger, Starts},
    others::{Others, SHELF, ask},
    server::{Server, program},
    usage::Usage,
};
use clap::Parser;

/// Calls a server that is killed at random moments.
#[derive(Clone, Copy, Parser)]
pub(crate) struct Options {
    /// Number of calls
    #[arg(long, default_value = "10000")]
    pub(crate) calls: usize,
    /// Number of concurrent callers
    #[arg(long, default_value = "8")]
    pub(crate) callers: usize,
    /// How often the server is killed
    #[arg(long, default_value = "300")]
    pub(crate) kills: usize,
    /// Use HTTP instead of stdio
    #[arg(long)]
    pub(crate) http: bool,
}

pub(crate) type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
