use super::{
    instrument::{BUCKETS, Instrument, Kind},
    labels::{Backend, Labels},
};
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Gauge, Histogram, Meter},
};

/// The instruments of a meter, in the order of [`Instrument::all`].
pub(super) struct Instruments(Vec<Made>);

enum Made {
    Counter(Counter<u64>),
    Histogram(Histogram<f64>),
    Gauge(Gauge<f64>),
}

impl Instruments {
    pub(super) fn new(meter: &Meter) -> Self {
        let make = |it: Instrument| {
            let (name, unit, text) = (it.name(), it.unit(), it.description());
            match it.kind() {
                Kind::Counter => {
                    let counter = meter.u64_counter(name).with_unit(unit);
                    Made::Counter(counter.with_description(text).build())
                }
                Kind::Histogram => {
                    let histogram = meter.f64_histogram(name).with_unit(unit);
                    let histogram = histogram.with_boundaries(BUCKETS.to_vec());
                    Made::Histogram(histogram.with_description(text).build())
                }
                Kind::Gauge => {
                    let gauge = meter.f64_gauge(name).with_unit(unit);
                    Made::Gauge(gauge.with_description(text).build())
                }
            }
        };
        Self(Instrument::all().map(make).collect())
    }

    fn get(&self, instrument: Instrument) -> Option<&Made> {
        self.0.get(instrument as usize)
    }
}

fn attributes(labels: &Labels<'_>) -> Vec<KeyValue> {
    let labels = labels.iter();
    labels
        .map(|(name, value)| KeyValue::new(name, value.to_owned()))
        .collect()
}

impl Backend for Instruments {
    fn add(&self, counter: Instrument, by: u64, labels: &Labels<'_>) {
        if let Some(Made::Counter(counter)) = self.get(counter) {
            counter.add(by, &attributes(labels));
        }
    }

    fn record(&self, histogram: Instrument, value: f64, labels: &Labels<'_>) {
        if let Some(Made::Histogram(histogram)) = self.get(histogram) {
            histogram.record(value, &attributes(labels));
        }
    }

    fn set(&self, gauge: Instrument, value: f64, labels: &Labels<'_>) {
        if let Some(Made::Gauge(gauge)) = self.get(gauge) {
            gauge.record(value, &attributes(labels));
        }
    }
}
