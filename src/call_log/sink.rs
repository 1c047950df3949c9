use super::{
    Record,
    combined::{And, Filtered},
};
use std::{sync::Arc, time::Duration};

/// Takes the records of finished calls.
///
/// It is called on the task of the call, and must not block: a sink that blocks delays that call.
/// Hand the record on and write elsewhere, as [`JsonLines`](super::JsonLines) does for any writer. A
/// panic in it is caught; the record is lost, and the call does not fail.
///
/// A closure over `&Record<'_>` is a sink, and so is an [`Arc`] of a sink. [`and`](Self::and) gives
/// each record to two sinks, [`filter`](Self::filter) only some records to one:
///
/// ```
/// use mcp_resilience::call_log::{CallLogLayer, JsonLines, Outcome, Record, Sink};
/// use std::{io, sync::atomic::{AtomicU64, Ordering::Relaxed}};
///
/// static CALLS: AtomicU64 = AtomicU64::new(0);
///
/// let failures = JsonLines::new(io::sink())
///     .filter(|record: &Record<'_>| record.outcome() == Outcome::Failed);
/// let count = |_: &Record<'_>| {
///     CALLS.fetch_add(1, Relaxed);
/// };
/// let layer = CallLogLayer::new(JsonLines::stderr().and(failures).and(count));
/// # let _ = layer;
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a sink of the call log",
    label = "this type does not implement `Sink`",
    note = "implement `mcp_resilience::call_log::Sink` for it, wrap a writer in `JsonLines::new`, or write a closure with the type of its argument: `|record: &Record<'_>| ..`"
)]
pub trait Sink: Send + Sync {
    /// Takes one record.
    fn write(&self, record: &Record<'_>);

    /// Waits until all records so far are written, for at most this time. For the end of a process.
    fn flush(&self, _at_most: Duration) {}

    /// This sink and then another. A panic in this one does not affect the other.
    ///
    /// Flushing both may take twice as long.
    fn and<K: Sink>(self, other: K) -> And<Self, K>
    where
        Self: Sized,
    {
        And::new(self, other)
    }

    /// This sink, for the records that satisfy the function.
    fn filter<F>(self, is_wanted: F) -> Filtered<Self, F>
    where
        Self: Sized,
        F: Fn(&Record<'_>) -> bool + Send + Sync,
    {
        Filtered::new(self, is_wanted)
    }
}

impl<F: Fn(&Record<'_>) + Send + Sync> Sink for F {
    fn write(&self, record: &Record<'_>) {
        self(record);
    }
}

impl<K: Sink + ?Sized> Sink for Arc<K> {
    fn write(&self, record: &Record<'_>) {
        (**self).write(record);
    }

    fn flush(&self, at_most: Duration) {
        (**self).flush(at_most);
    }
}
