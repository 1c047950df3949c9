use super::Record;
use std::{sync::Arc, time::Duration};

/// Takes the records of finished calls.
///
/// It is called on the task that made the call, so it must be quick: hand the record on, and do
/// the writing elsewhere. A panic in it is caught and the record is lost; it never fails the call.
pub trait Sink: Send + Sync {
    /// Takes one record.
    fn write(&self, record: &Record<'_>);

    /// Waits until everything taken so far is written, at most so long. For the end of a process.
    fn flush(&self, _at_most: Duration) {}
}

impl<K: Sink + ?Sized> Sink for Arc<K> {
    fn write(&self, record: &Record<'_>) {
        (**self).write(record);
    }

    fn flush(&self, at_most: Duration) {
        (**self).flush(at_most);
    }
}
