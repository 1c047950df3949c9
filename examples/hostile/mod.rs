//! The parts of the hostile server. The page of the example describes it.

mod connection;
mod fault;
pub(crate) mod http;
mod ledger;
mod options;
mod post;
mod reply;
mod resource;
mod server;
pub(crate) mod stdio;
mod tools;

pub(crate) use self::{options::Options, server::Server};
use std::{
    io::{self, Write},
    process,
};

/// Prints the reason on stderr, and ends the process.
pub(crate) fn end(code: i32, why: &str) -> ! {
    say(why);
    process::exit(code)
}

/// Prints a line on stderr. Unlike `eprintln!`, does not panic if stderr is closed.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
