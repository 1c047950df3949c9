use super::silence;
use crate::failure::Failure;
use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Runs foreign code, and makes a failure of its panic.
///
/// The code is not run again after a panic, and changes no state of the layer. So the assertion
/// holds.
#[inline]
pub(crate) fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let panicked = Panicked {
            place: silence::place().map_or_else(String::new, |place| format!(" at {place}")),
            message: message(&*payload).into(),
        };
        // Any value may be thrown, also one that panics when it is dropped. That one is kept.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            mem::forget(another);
        }
        Failure::crash(panicked)
    })
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("with a value that is not text")
}

/// The source of a failure that was a panic.
#[derive(Debug, thiserror::Error)]
#[error("panicked{place}: {message}")]
struct Panicked {
    place: String,
    message: String,
}
