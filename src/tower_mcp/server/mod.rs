//! Around a router: see the [page of the adapter](super).

mod answer;
mod call;
mod cancellation;
mod dispatch;
mod error;
mod keys;
mod layer;
mod learned;
mod own_words;
mod queue;
mod resilient;
mod router;
mod run;
mod stored;

pub use self::{
    answer::ServerAnswer,
    call::ServerCall,
    layer::{PresetStack, ResilientLayer},
    resilient::Resilient,
    router::RouterService,
};
