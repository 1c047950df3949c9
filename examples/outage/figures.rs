#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of some thousand calls, and seconds of some minutes"
)]

use super::run::{Calls, HERD, OFFERED, PHASES, SECONDS};
use std::time::Duration;

/// The share of calls that counts as recovered.
const RECOVERED: f64 = 0.99;

/// One strategy in an outage.
#[derive(Clone, Debug)]
pub(super) struct Outage {
    /// The share of the calls that succeeded.
    pub(super) success: f64,
    /// Attempts during the outage as a multiple of the calls, on average and in the second with most.
    pub(super) mean_load: f64,
    pub(super) peak_load: f64,
    /// Attempts before the end of the wait that the server asked for.
    pub(super) early: usize,
    /// Seconds from the time at which the server begins to come back until 99 % of the calls of each second succeed.
    pub(super) recovery: u64,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    pub(super) longest: Duration,
    /// For each second, attempts as a multiple of the calls.
    pub(super) load_by_second: Vec<f64>,
    /// For each second, the share of the calls that began in it and succeeded.
    pub(super) success_by_second: Vec<f64>,
}

impl Outage {
    pub(super) fn of(calls: &Calls) -> Self {
        let seconds = SECONDS as usize;
        let mut attempts = vec![0.0; seconds];
        for at in &calls.attempts {
            if let Some(attempts) = attempts.get_mut(at.as_secs() as usize) {
                *attempts += 1.0;
            }
        }
        let mut succeeded = vec![0.0; seconds];
        for call in calls.ended.iter().filter(|call| call.succeeded) {
            succeeded[call.begun.as_secs() as usize] += 1.0;
        }
        let offered = OFFERED as f64;
        let by_second = |counts: Vec<f64>| -> Vec<f64> {
            counts.into_iter().map(|count| count / offered).collect()
        };
        let success_by_second = by_second(succeeded);
        let load_by_second = by_second(attempts);
        let [fails, _, returns, back] = PHASES.map(|at| at as usize);
        let during = &load_by_second[fails..back];
        let last_bad = success_by_second
            .iter()
            .rposition(|share| *share < RECOVERED);
        let recovered = last_bad.map_or(0, |at| at + 1);
        let mut took: Vec<_> = calls.ended.iter().map(|call| call.took).collect();
        took.sort_unstable();
        Self {
            success: success_by_second.iter().sum::<f64>() / seconds as f64,
            mean_load: during.iter().sum::<f64>() / during.len() as f64,
            peak_load: during.iter().copied().fold(0.0, f64::max),
            early: calls.early,
            recovery: recovered.saturating_sub(returns) as u64,
            p50: quantile(&took, 0.5),
            p99: quantile(&took, 0.99),
            longest: quantile(&took, 1.0),
            load_by_second,
            success_by_second,
        }
    }
}

fn quantile(sorted: &[Duration], share: f64) -> Duration {
    let at = (sorted.len() as f64 * share).ceil() as usize;
    sorted
        .get(at.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

/// One strategy after a refusal of many clients at the same instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Herd {
    /// The most arrivals in 100 ms after that instant, as a share of the clients.
    pub(super) peak: f64,
    /// Attempts for each client.
    pub(super) attempts: f64,
    pub(super) success: f64,
    pub(super) early: usize,
    /// When the last call was over.
    pub(super) longest: Duration,
}

impl Herd {
    pub(super) fn of(calls: &Calls) -> Self {
        let mut later: Vec<_> = calls.attempts.iter().filter(|at| !at.is_zero()).collect();
        later.sort_unstable();
        // In any 100 ms, wherever they begin.
        let within = |at: &Duration| *at + Duration::from_millis(100);
        let arrivals = later
            .iter()
            .enumerate()
            .map(|(first, at)| later[first..].partition_point(|later| **later < within(at)));
        let peak = arrivals.max().unwrap_or_default();
        let clients = HERD as f64;
        let succeeded = calls.ended.iter().filter(|call| call.succeeded).count();
        Self {
            peak: peak as f64 / clients,
            attempts: calls.attempts.len() as f64 / clients,
            success: succeeded as f64 / clients,
            early: calls.early,
            longest: calls
                .ended
                .iter()
                .map(|call| call.took)
                .max()
                .unwrap_or_default(),
        }
    }
}
