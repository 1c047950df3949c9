use crate::failure::Failure;
use std::{
    any::Any,
    cell::{Cell, RefCell},
    mem,
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::Once,
};

thread_local! {
    /// The depth of our polls on the stack of this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The place of the last panic inside them.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the panics that [`Classify`](super::Classify) catches off stderr. They are failures of class
/// [`Crash`](crate::Class::Crash), which then have the place of the panic.
///
/// Without it, the messages of panics are between the lines of a log on stderr. If stderr has no
/// reader, the thread that panics would block for ever.
///
/// Call it once at the start of a server that logs its calls. It sets a hook for the whole process.
/// The hook passes all other panics to the hook that was there before. A panic that the tool itself
/// catches is hidden as well.
pub fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // If a panic ends the process, nothing else reports it.
            if DEPTH.get() == 0 || cfg!(panic = "abort") {
                before(info);
            } else {
                PLACE.set(info.location().map(ToString::to_string));
            }
        }));
    });
}

/// Runs foreign code, and makes a failure of its panic, so that nothing else has to report it.
#[inline]
pub(super) fn catch_silenced<T>(run: impl FnOnce() -> T) -> Result<T, Failure> {
    DEPTH.set(DEPTH.get() + 1);
    let caught = catch_panic(run);
    DEPTH.set(DEPTH.get() - 1);
    caught
}

/// Runs foreign code, and makes a failure of its panic.
///
/// The code is not run again after a panic, and changes no state of the layer. So the assertion
/// holds.
#[inline]
pub(crate) fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let panicked = Panicked {
            place: PLACE
                .take()
                .map_or_else(String::new, |place| format!(" at {place}")),
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
