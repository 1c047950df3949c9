//! The common parts of both server adapters: how a server stops, and how its calls end then.
//!
//! Nothing here depends on an SDK.

mod any_error;
mod attempt;
mod catch_panics;
mod handler_answer;
mod learned;
mod lifetime;
mod noting;
pub(crate) mod progress;
mod refused;
mod running;
mod send;
mod signals;
mod stdio;
mod stop;
pub(crate) mod thrown;
mod unreadable;

pub use self::{
    any_error::AnyError,
    attempt::Attempt,
    handler_answer::HandlerAnswer,
    stdio::{StdinReader, StdoutWriter, stdio},
    stop::{Shutdown, Stop},
};
pub(crate) use self::{
    catch_panics::CatchPanics,
    learned::{Learned, PAGES},
    lifetime::{CLOSE, Lifetime, MOMENT},
    noting::Noting,
    refused::{cut_off, refused, shut_down},
    running::Running,
    unreadable::{Unreadable, without_values},
};
