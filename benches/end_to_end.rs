//! The cost of the stack for a call through a real server: the bookshop bare and wrapped, over stdio
//! and HTTP.
//!
//! ```text
//! cargo bench --features rmcp-client-http --bench end_to_end
//! ```
//!
//! Each server is this program, started again as a child process. One client calls it, one call after the other; the
//! lines of the log go to the null device.

mod end_to_end {
    pub(crate) mod client;
    pub(crate) mod server;
}
#[path = "../examples/shop/mod.rs"]
mod shop;
#[path = "../examples/shop_rmcp/mod.rs"]
mod shop_rmcp;
mod support;

use end_to_end::{
    client::Connection,
    server::{self, Stack},
};
use std::{env, error::Error};
use support::{Row, measure};

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [command, stack, transport] = &arguments[..]
        && command == server::COMMAND
    {
        return server::run(stack.parse()?, transport == server::HTTP);
    }
    let (group, transport) = ("end to end: stdio", server::STDIO);
    let mut rows = rows(|stack| Connection::to_child(&[stack, transport]))?;
    measure(group, &mut rows, Stack::Bare.name(), 200, 10);

    let (group, transport) = ("end to end: HTTP", server::HTTP);
    let mut rows = self::rows(|stack| Connection::over_http(&[stack, transport]))?;
    measure(group, &mut rows, Stack::Bare.name(), 200, 10);
    Ok(())
}

fn rows(connect: impl Fn(&str) -> Fallible<Connection>) -> Fallible<Vec<Row>> {
    let stacks = [Stack::Bare, Stack::LogOff, Stack::LogOn];
    stacks
        .into_iter()
        .map(|stack| {
            let connection = connect(stack.name())?;
            Ok(Row::new(stack.name(), move |calls| connection.time(calls)))
        })
        .collect()
}
