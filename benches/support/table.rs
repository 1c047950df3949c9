use super::Row;
use criterion::Criterion;
use std::{env, time::Duration};

/// Whether the benchmark only has to run, as it does in `cargo test`.
pub(crate) fn is_test() -> bool {
    env::args().all(|argument| argument != "--bench")
}

/// Measures all rows, each `times` times a round, and prints each as a ratio to one of them.
///
/// Criterion measures one row after the other. The table is measured in turns, so that a busy machine slows all rows
/// alike: the ratio is the median over the rounds, each of which compares times that were taken right after each other.
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
pub(crate) fn measure(group: &str, rows: &mut [Row], baseline: &str, rounds: usize, times: u8) {
    run_criterion(group, rows);
    let rounds = if is_test() { 1 } else { rounds };
    let mut took: Vec<Vec<f64>> = rows.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (row, took) in rows.iter_mut().zip(&mut took) {
            let once = row.time(times.into()).as_secs_f64() / f64::from(times);
            took.push(once);
        }
    }
    let base = rows.iter().position(|row| row.name() == baseline);
    let Some(base) = base.map(|at| took[at].clone()) else {
        return;
    };
    println!("\n{group:<36} {:>10} {:>7}", "median ns", "ratio");
    for (row, took) in rows.iter().zip(took) {
        let ratios = took.iter().zip(&base).map(|(once, base)| once / base);
        let ratio = median(ratios.collect());
        let nanos = median(took) * 1e9;
        println!("{:<36} {nanos:>10.0} {ratio:>7.2}", row.name());
    }
    println!();
}

fn run_criterion(group: &str, rows: &mut [Row]) {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args();
    let mut group = criterion.benchmark_group(group);
    for row in rows {
        group.bench_function(row.name(), |bencher| {
            bencher.iter_custom(|times| row.time(times));
        });
    }
    group.finish();
    criterion.final_summary();
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
