//! What the servers of both adapters share: how a server stops, and what becomes of the calls in it.
//!
//! Nothing here knows an SDK.

mod lifetime;
mod net;
mod refused;
mod running;
mod shutdown;
mod signals;
mod stdio;
mod stop;
pub(crate) mod thrown;

pub(crate) use self::{
    lifetime::{CLOSE, Lifetime, MOMENT},
    net::Net,
    refused::{cut_off, refused, shut_down},
    running::Running,
};
pub use self::{
    shutdown::Shutdown,
    stdio::{StdinReader, StdoutWriter, stdio},
    stop::Stop,
};
