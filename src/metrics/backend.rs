use super::{instrument::Instrument, labels::Labels};

/// Records numbers.
pub(super) trait Backend: Send + Sync {
    fn add(&self, counter: Instrument, by: u64, labels: &Labels<'_>);
    fn record(&self, histogram: Instrument, value: f64, labels: &Labels<'_>);
    fn set(&self, gauge: Instrument, value: f64, labels: &Labels<'_>);
}
