//! Around a router: see the [page of the adapter](super).

mod answer;
mod broken;
mod call;
mod came;
mod cancellation;
mod dispatch;
mod error;
mod incoming;
mod layer;
mod learned;
mod line;
mod own_words;
mod progress;
mod queue;
mod refused;
mod resilient;
mod router;
mod run;
mod stored;
mod unreadable;

pub use self::{
    answer::ServerAnswer,
    call::ServerCall,
    layer::{PresetStack, ResilientLayer},
    resilient::Resilient,
    router::RouterService,
};
