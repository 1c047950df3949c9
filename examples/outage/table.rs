use super::Measured;
use std::{fmt::Write, time::Duration};

/// Both scenarios, a line for each strategy.
pub(super) fn of(measured: &[Measured]) -> String {
    let mut text = String::from(
        "An outage of 80 s. Load: attempts during it, as a multiple of the calls. Early: attempts before the time that\n\
         the server had asked for. Recovery: from when the server begins to come back until 99 % of the calls succeed;\n\
         it can take all of them again after 10 s.\n\n",
    );
    row(
        &mut text,
        "",
        [
            "success", "load", "peak", "early", "recovery", "p50", "p99", "longest",
        ],
    );
    for Measured {
        strategy, outage, ..
    } in measured
    {
        let cells = [
            percent(outage.success),
            format!("{:.2}", outage.mean_load),
            format!("{:.1}", outage.peak_load),
            outage.early.to_string(),
            format!("{} s", outage.recovery),
            seconds(outage.p50),
            seconds(outage.p99),
            seconds(outage.longest),
        ];
        row(
            &mut text,
            strategy.name(),
            cells.each_ref().map(String::as_str),
        );
    }
    text.push_str(
        "\n500 clients, refused at the same instant and asked to wait for 5 s. Peak: the most arrivals in 100 ms.\n\n",
    );
    row(
        &mut text,
        "",
        ["success", "calls", "peak", "early", "longest"],
    );
    for Measured { strategy, herd, .. } in measured {
        let cells = [
            percent(herd.success),
            format!("{:.2}", herd.attempts),
            percent(herd.peak),
            herd.early.to_string(),
            seconds(herd.longest),
        ];
        row(
            &mut text,
            strategy.name(),
            cells.each_ref().map(String::as_str),
        );
    }
    text
}

fn row<const CELLS: usize>(text: &mut String, name: &str, cells: [&str; CELLS]) {
    let _ = write!(text, "{name:<20}");
    for cell in cells {
        let _ = write!(text, " {cell:>9}");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
