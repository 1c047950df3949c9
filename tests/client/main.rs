//! The client, against servers in other processes: the hostile server, and servers of other SDKs.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails must fail the test that takes it"
)]

mod call_tool;
mod calling;
mod catalog;
mod clients;
mod close;
mod credentials;
mod dial;
mod evidence;
mod faults;
mod handler;
mod hours;
mod keyed;
mod limits;
mod lines;
mod many;
mod nested;
mod observed;
mod odd;
mod opening;
mod own_transport;
mod peers;
mod probing;
mod progress;
mod refusals;
mod requests;
mod restored;
mod rmcp_texts;
mod sessions;
mod signals;
mod standing;
mod status;
mod support;
mod whole;
mod wire;
