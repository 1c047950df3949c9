use super::{
    instrument::{Instrument, Kind},
    labels::{Backend, Labels},
};
use ::metrics::{Key, Label, Level, Metadata, Recorder, Unit, with_recorder};

static METADATA: Metadata<'static> =
    Metadata::new("mcp_resilience", Level::INFO, Some(module_path!()));

/// The facade of the crate `metrics`.
#[derive(Debug)]
pub(super) struct Facade;

impl Facade {
    pub(super) fn new() -> Self {
        with_recorder(|recorder| {
            for instrument in Instrument::all() {
                describe(instrument, recorder);
            }
        });
        Self
    }
}

fn describe(instrument: Instrument, recorder: &dyn Recorder) {
    let (name, text) = (instrument.name().into(), instrument.description().into());
    match instrument.kind() {
        Kind::Counter => recorder.describe_counter(name, None, text),
        Kind::Histogram => recorder.describe_histogram(name, Some(Unit::Seconds), text),
        Kind::Gauge => recorder.describe_gauge(name, None, text),
    }
}

fn key(instrument: Instrument, labels: &Labels<'_>) -> Key {
    let labels = labels
        .iter()
        .map(|(name, value)| Label::new(name, value.to_owned()));
    Key::from_parts(instrument.name(), labels.collect::<Vec<_>>())
}

impl Backend for Facade {
    fn add(&self, counter: Instrument, by: u64, labels: &Labels<'_>) {
        let key = key(counter, labels);
        with_recorder(|recorder| recorder.register_counter(&key, &METADATA)).increment(by);
    }

    fn record(&self, histogram: Instrument, value: f64, labels: &Labels<'_>) {
        let key = key(histogram, labels);
        with_recorder(|recorder| recorder.register_histogram(&key, &METADATA)).record(value);
    }

    fn set(&self, gauge: Instrument, value: f64, labels: &Labels<'_>) {
        let key = key(gauge, labels);
        with_recorder(|recorder| recorder.register_gauge(&key, &METADATA)).set(value);
    }
}
