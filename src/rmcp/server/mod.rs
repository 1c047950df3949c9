//! Around a handler: see the [page of the adapter](super).

mod answer;
mod any_error;
mod attempt;
mod call;
mod dispatch;
mod error_data;
mod forward;
mod handler;
mod learned;
mod net;
mod progress;
mod resilient;
mod run;
mod running;
mod signals;
mod stdio;
mod stop;
mod thrown;
mod unreadable;
mod until;

pub use self::{
    answer::ServerAnswer,
    any_error::AnyError,
    attempt::Attempt,
    call::ServerCall,
    handler::HandlerService,
    resilient::{PresetStack, Resilient},
    stdio::{StdinReader, StdoutWriter, stdio},
    stop::Stop,
    until::Shutdown,
};
