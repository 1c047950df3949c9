//! What the tests of the core share: a call, an answer, a scripted tool, a strict probe and a sink.

mod call;
mod lines;
mod script;
mod strict;
mod traced;

pub(crate) use self::{
    call::{Answer, Call},
    lines::Lines,
    script::Script,
    strict::Strict,
    traced::traced,
};
