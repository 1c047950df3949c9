use super::row::Row;

const ROUNDS: usize = 400;
const CALLS: u64 = 256;

/// Measures all rows in turns, and prints each as a ratio to one of them: the median over the
/// rounds, each of which compares times that were taken right after each other.
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
pub(crate) fn print(rows: &mut [Row], baseline: &str) {
    let mut times: Vec<Vec<f64>> = rows.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (row, times) in rows.iter_mut().zip(&mut times) {
            times.push(row.time(CALLS).as_secs_f64());
        }
    }
    let base = rows.iter().position(|row| row.name() == baseline);
    let Some(base) = base.map(|at| times[at].clone()) else {
        return;
    };
    println!("\n{:<18} {:>8} {:>7}", "median", "ns/call", "ratio");
    for (row, times) in rows.iter().zip(times) {
        let ratios = times.iter().zip(&base).map(|(time, base)| time / base);
        let ratio = median(ratios.collect());
        let nanos = median(times) * 1e9 / 256.0;
        println!("{:<18} {nanos:>8.0} {ratio:>7.2}", row.name());
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
