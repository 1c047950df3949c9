//! What dooms every call stops the process: with a reason, an exit code, and at once.
//!
//! Two halves. [`startup`] has the checks before a server serves; each ends in a [`Fatal`], an
//! error for `fn main() -> Result<(), Fatal>`. [`FatalLayer`] watches the calls afterwards: the
//! first failure of [`Class::Fatal`](crate::Class::Fatal) shuts the stack, refuses every later
//! call, and wakes [`FatalHandle::wait`], so that `main` can end the server and
//! return the reason.
//!
//! | | The caller of the first one | Later calls | The process |
//! |---|---|---|---|
//! | [`Class::Fatal`](crate::Class::Fatal) | gets the failure | get a fatal failure in general words, with the cause, without secrets, as its source for the log; readiness is an error ([`answering`](FatalLayer::answering) for less) | ends, exit code 1, the reason on stderr |
//! | any other failure | gets the failure | go on | goes on |
//!
//! The end is the end of one stack: where a tool calls on through a stack of its own, and that one
//! has shut, its failure is [`Disabled`](crate::Class::Disabled) to the stack around the tool.
//!
//! # What is fatal
//!
//! What the application requires, by its `?`. A check whose error is kept and not returned disables
//! one part and leaves the rest to serve: give its tools
//! [`Failure::disabled`](crate::Failure::disabled). Credentials that are refused are fatal in the
//! first dial or in a check at the start, and an ordinary failure in a call.
//!
//! What these layers contain are calls, and their panics. A start that fails, or panics, ends the
//! process as it would without them.
//!
//! # When to use it
//!
//! Outside [`retry`](crate::retry), so that nothing fatal is tried again; inside
//! [`is_error`](crate::is_error), which leaves a fatal failure to the host.
//!
//! # Example
//!
//! ```no_run
//! use mcp_resilience::fatal::{Fatal, FatalLayer, startup};
//! # async fn serve(_: FatalLayer) {}
//!
//! fn main() -> Result<(), Fatal> {
//!     let token = startup::env("BOOKSHOP_TOKEN")?;
//!     # let _ = token;
//!     let layer = FatalLayer::new();
//!     let fatal = layer.handle();
//!     let runtime = tokio::runtime::Builder::new_current_thread()
//!         .enable_all()
//!         .build()
//!         .map_err(|error| Fatal::new("cannot start the runtime").because(error))?;
//!     runtime.spawn(async { serve(layer).await });
//!     let cause = runtime.block_on(fatal.wait());
//!     // tokio reads stdin on a thread that cannot be stopped: do not wait for it.
//!     runtime.shutdown_background();
//!     Err(cause)
//! }
//! ```

mod future;
mod latch;
mod layer;
mod service;
pub mod startup;

pub use self::{future::ResponseFuture, latch::FatalHandle, layer::FatalLayer, service::FatalStop};
pub use crate::failure::Fatal;
