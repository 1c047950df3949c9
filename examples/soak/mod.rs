//! What the soak is made of.

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
    /// How many calls are made in all.
    #[arg(long, default_value = "10000")]
    pub(crate) calls: usize,
    /// How many callers make them at the same time.
    #[arg(long, default_value = "8")]
    pub(crate) callers: usize,
    /// How often the server is killed.
    #[arg(long, default_value = "300")]
    pub(crate) kills: usize,
    /// Over HTTP instead of stdio.
    #[arg(long)]
    pub(crate) http: bool,
}

pub(crate) type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
