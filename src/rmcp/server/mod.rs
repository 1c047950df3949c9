//! Around a handler: see the [page of the adapter](super).

mod answer;
mod call;
mod cancellations;
mod dispatch;
mod early;
mod error_data;
mod forward;
mod handler;
mod learned;
mod progress;
mod recognize;
mod resilient;
mod run;
mod stored;
mod streams;
mod unreadable;
mod until;
mod wire;

pub use self::{
    answer::ServerAnswer,
    call::ServerCall,
    handler::HandlerService,
    resilient::{PresetStack, Resilient},
    wire::LineTransport,
};
pub use crate::serve::{
    AnyError, Attempt, HandlerAnswer, Shutdown, StdinReader, StdoutWriter, Stop, stdio,
};
