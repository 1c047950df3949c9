//! Shared by the tests of the core: a call, an answer, a scripted tool, a strict probe, a sink, an
//! observer, and a child process.

mod call;
mod child;
mod lines;
#[allow(clippy::duplicate_mod, reason = "other test binaries have it too")]
#[path = "../../schema/mod.rs"]
pub(crate) mod schema;
mod script;
mod seen;
mod strict;
mod traced;

pub(crate) use self::{
    call::{Answer, Call},
    child::{in_a_child, is_the_child},
    lines::Lines,
    script::Script,
    seen::Seen,
    strict::Strict,
    traced::{events_of, traced, traced_as_text},
};
