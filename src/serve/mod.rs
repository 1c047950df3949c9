//! The common parts of both server adapters: how a server stops, and how its calls end then.
//!
//! Nothing here depends on an SDK.

mod any_error;
mod attempt;
mod learned;
mod lifetime;
mod net;
mod refused;
mod running;
mod shutdown;
mod signals;
mod stdio;
mod stop;
pub(crate) mod thrown;

pub use self::{
    any_error::AnyError,
    attempt::Attempt,
    shutdown::Shutdown,
    stdio::{StdinReader, StdoutWriter, stdio},
    stop::Stop,
};
pub(crate) use self::{
    learned::{Learned, PAGES},
    lifetime::{CLOSE, Lifetime, MOMENT},
    net::Net,
    refused::{cut_off, refused, shut_down},
    running::Running,
};
