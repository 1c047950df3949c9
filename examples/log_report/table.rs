use super::report::{Report, ToolReport};
use std::fmt::Write;

/// The report for a terminal.
pub(super) fn of(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(report, &mut out);
    out
}

fn write(report: &Report, out: &mut String) -> std::fmt::Result {
    let span = match (&report.first, &report.last) {
        (Some(first), Some(last)) => format!("{first} to {last}"),
        _ => "no calls".to_owned(),
    };
    writeln!(out, "{} lines, {span}", report.lines)?;
    if report.broken + report.other + report.lost > 0 {
        writeln!(
            out,
            "skipped: {} broken, {} of other events; lost by the log: {}",
            report.broken, report.other, report.lost
        )?;
    }
    let wide = report.tools.iter().map(|tool| tool.name.chars().count());
    let wide = wide.max().unwrap_or(0).clamp(4, 40);
    writeln!(
        out,
        "\n{:wide$} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10}  failures by class",
        "tool", "calls", "success", "failed", "repeats", "p50 ms", "p95 ms", "p99 ms", "waited s"
    )?;
    for tool in report.tools.iter().chain([&report.total]) {
        row(tool, wide, out)?;
    }
    hours(report, wide, out)?;
    let invalid: Vec<_> = report
        .tools
        .iter()
        .filter(|tool| !tool.invalid_arguments.is_empty())
        .collect();
    if !invalid.is_empty() {
        writeln!(out, "\narguments that fail validation")?;
        for tool in invalid {
            for shape in &tool.invalid_arguments {
                writeln!(
                    out,
                    "{:wide$} {:>9} {}",
                    name(tool),
                    shape.calls,
                    shape.arguments
                )?;
            }
        }
    }
    let unknown = &report.unknown_outcome;
    if unknown.calls > 0 {
        writeln!(
            out,
            "\n{} calls failed that may have run, the last of them:",
            unknown.calls
        )?;
        for call in &unknown.last {
            writeln!(
                out,
                "{} {:wide$} {} {}",
                call.timestamp, call.tool, call.call_id, call.error
            )?;
        }
    }
    Ok(())
}

fn name(tool: &ToolReport) -> String {
    tool.name.chars().take(40).collect()
}

fn row(tool: &ToolReport, wide: usize, out: &mut String) -> std::fmt::Result {
    let shown = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let mut classes: Vec<_> = tool.failures_by_class.iter().collect();
    classes.sort_by(|(_, m), (_, n)| n.cmp(m));
    let classes: Vec<_> = classes
        .iter()
        .map(|(class, count)| format!("{class} {count}"))
        .collect();
    writeln!(
        out,
        "{:wide$} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10}  {}",
        name(tool),
        tool.calls,
        share(tool.success, tool.calls),
        tool.failed,
        tool.repeats,
        shown(tool.p50_ms),
        shown(tool.p95_ms),
        shown(tool.p99_ms),
        tool.waited_ms / 1000,
        classes.join(", ")
    )
}

/// A percentage. Only the whole is shown as 100 %.
pub(super) fn share(part: u64, all: u64) -> String {
    let tenths = part.saturating_mul(1000).checked_div(all).unwrap_or(0);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn hours(report: &Report, wide: usize, out: &mut String) -> std::fmt::Result {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    writeln!(out, "\nshare of failures by hour of day, in UTC")?;
    writeln!(out, "{:wide$} 0     6     12    18   23", "")?;
    for tool in report.tools.iter().chain([&report.total]) {
        let bars: String = tool
            .hours_utc
            .iter()
            .map(|hour| {
                let eighths = (hour.failed * 8).div_ceil(hour.calls.max(1));
                BARS[usize::try_from(eighths).unwrap_or(8).min(8)]
            })
            .collect();
        let window = tool.worst_hour_utc.map_or_else(String::new, |hour| {
            let worst = tool.hours_utc[hour];
            let share = share(worst.failed, worst.calls);
            format!(
                "  {hour:02}:00 stands out: {} failed, {share}",
                worst.failed
            )
        });
        writeln!(out, "{:wide$} {bars}{window}", name(tool))?;
    }
    Ok(())
}
