use super::catch_panic;
use crate::failure::Failure;
use std::{
    cell::{Cell, RefCell},
    panic,
    sync::Once,
};

thread_local! {
    /// How many of our polls are on the stack of this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Where the last panic inside them was.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the panics that [`Classify`](super::Classify) catches off stderr: there they would stand
/// between the lines of a log, and where nobody reads stderr, the thread that panics would wait for
/// ever. They are failures of class [`Crash`](crate::Class::Crash), which then say where they were.
///
/// For the start of a server that logs its calls. It sets a hook for the whole process, which hands
/// any other panic on to the hook that was there before. A panic that the tool itself catches is
/// hushed as well. Once is enough; later calls do nothing.
pub fn hush_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // Where a panic is the end, nobody else tells it.
            if DEPTH.get() == 0 || cfg!(panic = "abort") {
                before(info);
            } else {
                PLACE.set(info.location().map(ToString::to_string));
            }
        }));
    });
}

/// Runs somebody else's code, and makes a failure of its panic, which nobody else has to tell.
#[inline]
pub(super) fn catch_hushed<T>(run: impl FnOnce() -> T) -> Result<T, Failure> {
    DEPTH.set(DEPTH.get() + 1);
    let caught = catch_panic(run);
    DEPTH.set(DEPTH.get() - 1);
    caught
}

/// Where the panic was that has just been caught, if it was hushed.
pub(super) fn place() -> Option<String> {
    PLACE.take()
}
