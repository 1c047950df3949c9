use super::row::Row;

const ROUNDS: usize = 400;

/// Two rows that are compared.
pub(crate) struct Pair {
    name: String,
    base: Row,
    other: Row,
}

impl Pair {
    pub(crate) fn new(name: &str, base: Row, other: Row) -> Self {
        Self {
            name: name.to_owned(),
            base,
            other,
        }
    }

    pub(crate) fn rows(&mut self) -> [&mut Row; 2] {
        [&mut self.base, &mut self.other]
    }

    /// Measured in turns, so that each round compares what was taken right after each other.
    fn rounds(&mut self) -> Vec<(f64, f64)> {
        (0..ROUNDS)
            .map(|_| (self.base.nanos(), self.other.nanos()))
            .collect()
    }
}

#[expect(clippy::print_stdout, reason = "the table is what it is for")]
pub(crate) fn print_ratios(title: &str, pairs: &mut [Pair]) {
    println!("\n{title:<36} {:>9} {:>9} {:>7}", "ns", "ns", "ratio");
    for pair in pairs {
        let rounds = pair.rounds();
        let ratio = median(&rounds, |(base, other)| other / base);
        let (base, other) = both(&rounds);
        println!("{:<36} {base:>9.0} {other:>9.0} {ratio:>7.2}", pair.name);
    }
}

#[expect(clippy::print_stdout, reason = "the table is what it is for")]
pub(crate) fn print_differences(title: &str, pairs: &mut [Pair]) {
    println!("\n{title:<36} {:>9} {:>9} {:>7}", "ns", "ns", "more");
    for pair in pairs {
        let rounds = pair.rounds();
        let more = median(&rounds, |(base, other)| other - base);
        let (base, other) = both(&rounds);
        println!("{:<36} {base:>9.1} {other:>9.1} {more:>7.1}", pair.name);
    }
}

fn both(rounds: &[(f64, f64)]) -> (f64, f64) {
    (
        median(rounds, |(base, _)| base),
        median(rounds, |(_, other)| other),
    )
}

fn median(rounds: &[(f64, f64)], of: impl Fn((f64, f64)) -> f64) -> f64 {
    let mut values: Vec<_> = rounds.iter().copied().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
