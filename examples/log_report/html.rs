//! One HTML page, without scripts and without external resources.

use super::{
    report::{HourReport, Report, ToolReport},
    table::share,
};
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");

pub(super) fn page(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(report, &mut out);
    out
}

fn write(report: &Report, out: &mut String) -> std::fmt::Result {
    let span = match (&report.first, &report.last) {
        (Some(first), Some(last)) => format!("{} to {}", text(first), text(last)),
        _ => "no calls".to_owned(),
    };
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Calls</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>Calls</h1>\n<p class=\"span\">{span}</p>"
    )?;
    summary(report, out)?;
    writeln!(out, "<h2>Failures by hour of day (UTC)</h2>")?;
    writeln!(
        out,
        "<p class=\"note\">The height is the number of calls, the red part failed.</p>"
    )?;
    chart(&report.total, 720, 150, out)?;
    stands_out(&report.total, "All tools", out)?;
    for tool in &report.tools {
        stands_out(tool, &tool.name, out)?;
    }
    writeln!(out, "<h2>Tools</h2>")?;
    tools(report, out)?;
    invalid(report, out)?;
    unknown(report, out)?;
    writeln!(out, "</body>\n</html>")
}

fn summary(report: &Report, out: &mut String) -> std::fmt::Result {
    let total = &report.total;
    writeln!(out, "<dl class=\"cards\">")?;
    let mut cards = vec![
        ("calls", total.calls.to_string()),
        ("success", share(total.success, total.calls)),
        ("failed", total.failed.to_string()),
        ("repeats", total.repeats.to_string()),
        ("p95", milliseconds(total.p95_ms)),
        ("outcome unknown", report.unknown_outcome.calls.to_string()),
    ];
    for (name, count) in [
        ("lines lost", report.lost),
        ("lines skipped", report.broken + report.other),
    ] {
        if count > 0 {
            cards.push((name, count.to_string()));
        }
    }
    for (name, value) in cards {
        writeln!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>")?;
    }
    writeln!(out, "</dl>")
}

/// Stacked bars: calls, and among them failures.
fn chart(tool: &ToolReport, width: u32, height: u32, out: &mut String) -> std::fmt::Result {
    let most = tool.hours_utc.iter().map(|hour| hour.calls).max();
    let most = most.unwrap_or(0).max(1);
    let is_large = height > 60;
    let room = if is_large { height - 20 } else { height };
    writeln!(
        out,
        "<svg class=\"hours\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"failures of {} by hour\">",
        text(&tool.name)
    )?;
    let step = width / 24;
    for (hour, counts) in (0_u32..).zip(&tool.hours_utc) {
        let HourReport { calls, failed } = *counts;
        let tall = |count: u64| {
            let tall = u64::from(room).saturating_mul(count).div_ceil(most);
            u32::try_from(tall).unwrap_or(room).min(room)
        };
        let (of_calls, of_failed) = (tall(calls), tall(failed));
        let (x, wide) = (
            hour * step,
            step.saturating_sub(if is_large { 4 } else { 1 }),
        );
        writeln!(
            out,
            "<g><title>{hour:02}:00 {calls} calls, {failed} failed ({})</title>\
             <rect class=\"calls\" x=\"{x}\" y=\"{}\" width=\"{wide}\" height=\"{of_calls}\"/>\
             <rect class=\"failed\" x=\"{x}\" y=\"{}\" width=\"{wide}\" height=\"{of_failed}\"/></g>",
            share(failed, calls),
            room - of_calls,
            room - of_failed,
        )?;
        if is_large && hour % 3 == 0 {
            let middle = x + wide / 2;
            writeln!(
                out,
                "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{hour:02}</text>",
                height - 4
            )?;
        }
    }
    writeln!(out, "</svg>")
}

/// The hour at which far more calls fail than at others, if there is one.
fn stands_out(tool: &ToolReport, name: &str, out: &mut String) -> std::fmt::Result {
    let Some(hour) = tool.worst_hour_utc else {
        return Ok(());
    };
    let HourReport { calls, failed } = tool.hours_utc[hour];
    writeln!(
        out,
        "<p class=\"stands-out\">{} at {hour:02}:00: {failed} of {calls} calls failed ({}).</p>",
        text(name),
        share(failed, calls)
    )
}

fn tools(report: &Report, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "<div class=\"wide\"><table>\n<thead><tr><th>tool<th class=\"n\">calls<th class=\"n\">success\
         <th class=\"n\">failed<th>failures by class<th class=\"n\">repeats<th class=\"n\">p50<th class=\"n\">p95\
         <th class=\"n\">p99<th class=\"n\">waited<th>by hour</tr></thead>\n<tbody>"
    )?;
    for tool in &report.tools {
        let bad = if tool.failed > 0 { " bad" } else { "" };
        write!(
            out,
            "<tr><th scope=\"row\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n{bad}\">{}<td>",
            text(&tool.name),
            tool.calls,
            share(tool.success, tool.calls),
            tool.failed
        )?;
        classes(tool, out)?;
        write!(
            out,
            "<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{} s<td>",
            tool.repeats,
            milliseconds(tool.p50_ms),
            milliseconds(tool.p95_ms),
            milliseconds(tool.p99_ms),
            tool.waited_ms / 1000,
        )?;
        chart(tool, 144, 28, out)?;
        if let Some(hour) = tool.worst_hour_utc {
            write!(out, "<span class=\"stands-out\">{hour:02}:00</span>")?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody>\n</table></div>")
}

fn classes(tool: &ToolReport, out: &mut String) -> std::fmt::Result {
    let mut classes: Vec<_> = tool.failures_by_class.iter().collect();
    classes.sort_by(|(_, m), (_, n)| n.cmp(m));
    for (class, count) in classes {
        write!(out, "<span class=\"class\">{} {count}</span> ", text(class))?;
    }
    Ok(())
}

fn invalid(report: &Report, out: &mut String) -> std::fmt::Result {
    let mut shapes: Vec<_> = report
        .tools
        .iter()
        .flat_map(|tool| {
            tool.invalid_arguments
                .iter()
                .map(move |shape| (tool, shape))
        })
        .collect();
    if shapes.is_empty() {
        return Ok(());
    }
    shapes.sort_by_key(|(_, shape)| std::cmp::Reverse(shape.calls));
    writeln!(
        out,
        "<h2>Arguments that fail validation</h2>\n<div class=\"wide\"><table>\n\
         <thead><tr><th>tool<th class=\"n\">calls<th>keys and types</tr></thead>\n<tbody>"
    )?;
    for (tool, shape) in shapes {
        writeln!(
            out,
            "<tr><th scope=\"row\">{}<td class=\"n\">{}<td><code>{}</code></tr>",
            text(&tool.name),
            shape.calls,
            text(&shape.arguments)
        )?;
    }
    writeln!(out, "</tbody>\n</table></div>")
}

fn unknown(report: &Report, out: &mut String) -> std::fmt::Result {
    let unknown = &report.unknown_outcome;
    if unknown.calls == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "<h2>Calls of unknown outcome</h2>\n<p class=\"note\">{} calls failed that may have run. The last of them:</p>\n\
         <div class=\"wide\"><table>\n<thead><tr><th>ended<th>tool<th>call<th>error</tr></thead>\n<tbody>",
        unknown.calls
    )?;
    for call in &unknown.last {
        writeln!(
            out,
            "<tr><td>{}<th scope=\"row\">{}<td><code>{}</code><td>{}</tr>",
            text(&call.timestamp),
            text(&call.tool),
            text(&call.call_id),
            text(&call.error)
        )?;
    }
    writeln!(out, "</tbody>\n</table></div>")
}

fn milliseconds(value: Option<u64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value < 10_000 => format!("{value} ms"),
        Some(value) => format!("{} s", value / 1000),
    }
}

/// Escapes a text from the log.
fn text(of_others: &str) -> String {
    let mut out = String::with_capacity(of_others.len());
    for c in of_others.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}
