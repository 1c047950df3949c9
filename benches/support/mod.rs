//! Shared by the benchmarks: the request, the tool, and how rows are measured side by side.
#![allow(dead_code, unused_imports, reason = "each benchmark uses its own part")]

mod call;
mod row;
mod table;
mod tower_retry;

pub(crate) use self::{
    call::{Answer, Call, Kind, Tool},
    row::Row,
    table::{is_test, measure},
    tower_retry::Attempts,
};
