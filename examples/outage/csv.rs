use super::Measured;
use std::fmt::Write;

/// The outage, a line for each strategy.
pub(super) fn outage(measured: &[Measured]) -> String {
    let mut text = String::from(
        "strategy,success,mean_load,peak_load,early_attempts,recovery_s,p50_s,p99_s,longest_s\n",
    );
    for Measured {
        strategy, outage, ..
    } in measured
    {
        let _ = writeln!(
            text,
            "{},{:.4},{:.3},{:.3},{},{},{:.3},{:.3},{:.3}",
            strategy.name(),
            outage.success,
            outage.mean_load,
            outage.peak_load,
            outage.early,
            outage.recovery,
            outage.p50.as_secs_f64(),
            outage.p99.as_secs_f64(),
            outage.longest.as_secs_f64(),
        );
    }
    text
}

/// The outage, a line for each strategy and second.
pub(super) fn seconds(measured: &[Measured]) -> String {
    let mut text = String::from("strategy,second,load,success\n");
    for Measured {
        strategy, outage, ..
    } in measured
    {
        let both = outage.load_by_second.iter().zip(&outage.success_by_second);
        for (second, (load, success)) in both.enumerate() {
            let _ = writeln!(text, "{},{second},{load:.3},{success:.3}", strategy.name());
        }
    }
    text
}

/// The refusal of many at once, a line for each strategy.
pub(super) fn herd(measured: &[Measured]) -> String {
    let mut text = String::from(
        "strategy,success,calls_per_client,peak_per_100_ms,early_attempts,longest_s\n",
    );
    for Measured { strategy, herd, .. } in measured {
        let _ = writeln!(
            text,
            "{},{:.4},{:.3},{:.4},{},{:.3}",
            strategy.name(),
            herd.success,
            herd.attempts,
            herd.peak,
            herd.early,
            herd.longest.as_secs_f64(),
        );
    }
    text
}
