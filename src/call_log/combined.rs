//! Sinks made of sinks.

use super::{Record, Sink};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

/// Two sinks, made by [`Sink::and`].
#[derive(Clone, Copy, Debug)]
pub struct And<A, B> {
    first: A,
    second: B,
}

impl<A, B> And<A, B> {
    pub(super) fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

impl<A: Sink, B: Sink> Sink for And<A, B> {
    fn write(&self, record: &Record<'_>) {
        let first = catch_unwind(AssertUnwindSafe(|| self.first.write(record)));
        self.second.write(record);
        if let Err(panic) = first {
            resume_unwind(panic);
        }
    }

    fn flush(&self, at_most: Duration) {
        self.first.flush(at_most);
        self.second.flush(at_most);
    }
}

/// A sink for some records, made by [`Sink::filter`].
#[derive(Clone, Copy)]
pub struct Filtered<K, F> {
    sink: K,
    is_wanted: F,
}

impl<K, F> Filtered<K, F> {
    pub(super) fn new(sink: K, is_wanted: F) -> Self {
        Self { sink, is_wanted }
    }
}

impl<K, F> Sink for Filtered<K, F>
where
    K: Sink,
    F: Fn(&Record<'_>) -> bool + Send + Sync,
{
    fn write(&self, record: &Record<'_>) {
        if (self.is_wanted)(record) {
            self.sink.write(record);
        }
    }

    fn flush(&self, at_most: Duration) {
        self.sink.flush(at_most);
    }
}

impl<K: fmt::Debug, F> fmt::Debug for Filtered<K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filtered")
            .field("sink", &self.sink)
            .finish_non_exhaustive()
    }
}
