//! Ends the process when no call can succeed any more, with a reason and an exit code.
//!
//! There are two parts. [`startup`] has checks before a server serves. Each returns a [`Fatal`], an
//! error for `fn main() -> Result<(), Fatal>`. [`FatalLayer`] watches the calls afterwards. The first
//! failure of [`Class::Fatal`](crate::Class::Fatal) shuts the stack. From then on it refuses every
//! call, and [`FatalHandle::wait`] returns, so that `main` can end the server and return the reason.
//!
//! | | The first caller | Later calls | The process |
//! |---|---|---|---|
//! | [`Class::Fatal`](crate::Class::Fatal) | gets the failure | get a fatal failure in general words. The masked cause is its source, for the log. `poll_ready` fails, unless the layer is [`answering`](FatalLayer::answering) | ends with exit code 1 and the reason on stderr |
//! | any other failure | gets the failure | go on | goes on |
//!
//! Only one stack ends. If a tool uses a stack of its own that has shut down, its failure is
//! [`Disabled`](crate::Class::Disabled) for the stack around the tool.
//!
//! # What is fatal
//!
//! A check is fatal if the application returns its error by `?`. If it keeps the error instead, only
//! a part is disabled, and the rest serves: let its tools return
//! [`Failure::disabled`](crate::Failure::disabled). Refused credentials are fatal in the first dial
//! and in a check at the start. In a call they are an ordinary failure.
//!
//! The layers contain calls and their panics. A start that fails or panics ends the process as it
//! would without them.
//!
//! # When to use it
//!
//! Outside [`retry`](crate::retry), so that nothing fatal is repeated. Inside
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
