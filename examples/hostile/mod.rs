//! The parts of the hostile server; its page is that of the example.

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

/// Says why on stderr, and ends the process.
pub(crate) fn end(code: i32, why: &str) -> ! {
    say(why);
    process::exit(code)
}

/// A line on stderr. Whoever started the server may have closed it: that must not change how it
/// ends, and `eprintln!` would panic.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
