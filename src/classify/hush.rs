use std::{
    cell::{Cell, RefCell},
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

static INSTALLED: AtomicBool = AtomicBool::new(false);

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
            if DEPTH.get() == 0 {
                before(info);
            } else {
                PLACE.set(info.location().map(ToString::to_string));
            }
        }));
        INSTALLED.store(true, Relaxed);
    });
}

/// Runs somebody else's code whose panic is going to be caught and told.
#[inline]
pub(super) fn hushed<T>(run: impl FnOnce() -> T) -> T {
    if !INSTALLED.load(Relaxed) {
        return run();
    }
    let _deeper = Deeper::new();
    run()
}

/// Where the panic was that has just been caught, if it was hushed.
pub(super) fn place() -> Option<String> {
    PLACE.take()
}

struct Deeper;

impl Deeper {
    fn new() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self
    }
}

impl Drop for Deeper {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}
