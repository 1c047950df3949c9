//! Around a handler: see the [page of the adapter](super).

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
mod unreadable;
mod wire;

pub use self::{
    call::ServerCall,
    handler::{HandlerService, ServerAnswer},
    resilient::{PresetStack, Resilient},
    wire::LineTransport,
};
pub use crate::serve::{
    AnyError, Attempt, HandlerAnswer, Shutdown, StdinReader, StdoutWriter, Stop, stdio,
};
