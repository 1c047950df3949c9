use super::{Measured, run::RECOVERY, strategy::Strategy};
use std::fmt::Write;

/// The strategies that have bounds.
pub(super) const STRATEGIES: &[Strategy] = &[
    Strategy::DocumentedLoop,
    Strategy::Default,
    Strategy::SharedGate,
];

/// Each bound with its measured value, and whether all bounds hold.
pub(super) fn check(measured: &[Measured]) -> (String, bool) {
    let of = |strategy| {
        measured
            .iter()
            .find(|measured| measured.strategy == strategy)
    };
    let all = (
        of(Strategy::DocumentedLoop),
        of(Strategy::Default),
        of(Strategy::SharedGate),
    );
    let (Some(documented), Some(default), Some(gate)) = all else {
        return ("not measured\n".to_owned(), false);
    };
    let outage = &default.outage;
    let success = documented.outage.success * 100.0;
    let bounds = [
        (
            "default: load during the outage, × offered",
            outage.mean_load,
            At::Most,
            1.25,
        ),
        (
            "default: success in %, against the documented loop",
            outage.success * 100.0,
            At::Least,
            success,
        ),
        (
            "default: attempts earlier than asked",
            count(outage.early),
            At::Most,
            0.0,
        ),
        (
            "default: seconds to 99 % success",
            count(outage.recovery),
            At::Most,
            f64::from(RECOVERY) + 5.0,
        ),
        (
            "default: early attempts of 500 refused at once",
            count(default.herd.early),
            At::Most,
            0.0,
        ),
        (
            "shared gate: peak of 500 in 100 ms, % of them",
            gate.herd.peak * 100.0,
            At::Most,
            5.0,
        ),
        (
            "shared gate: attempts earlier than asked",
            count(gate.outage.early + gate.herd.early),
            At::Most,
            0.0,
        ),
    ];
    let mut text = String::new();
    let mut are_kept = true;
    for (name, value, at, bound) in bounds {
        let (is_kept, word) = match at {
            At::Most => (value <= bound, "at most"),
            At::Least => (value >= bound, "at least"),
        };
        are_kept &= is_kept;
        let mark = if is_kept { "" } else { "  <-- not kept" };
        let _ = writeln!(text, "{name:<52} {value:>7.2}  {word} {bound:.2}{mark}");
    }
    (text, are_kept)
}

#[derive(Clone, Copy)]
enum At {
    Most,
    Least,
}

#[allow(clippy::cast_precision_loss, reason = "some thousands at most")]
fn count(number: impl TryInto<u64>) -> f64 {
    number.try_into().unwrap_or(u64::MAX) as f64
}
