use super::counts::{Counts, Hour, Tool, Unknown};
use serde::Serialize;
use std::collections::BTreeMap;

/// How many shapes of arguments are shown for each tool.
const SHAPES: usize = 5;

/// The figures of the report.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) lines: u64,
    /// Lines that are not JSON, or not lines of a log.
    pub(super) broken: u64,
    /// Lines of other events.
    pub(super) other: u64,
    /// Lines that the log reports as lost.
    pub(super) lost: u64,
    pub(super) first: Option<String>,
    pub(super) last: Option<String>,
    pub(super) total: ToolReport,
    pub(super) tools: Vec<ToolReport>,
    pub(super) unknown_outcome: UnknownReport,
}

#[derive(Debug, Serialize)]
pub(super) struct ToolReport {
    pub(super) name: String,
    pub(super) calls: u64,
    pub(super) success: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
    pub(super) interim: u64,
    pub(super) failures_by_class: BTreeMap<String, u64>,
    pub(super) repeated_calls: u64,
    pub(super) repeats: u64,
    pub(super) waited_ms: u64,
    pub(super) p50_ms: Option<u64>,
    pub(super) p95_ms: Option<u64>,
    pub(super) p99_ms: Option<u64>,
    pub(super) hours_utc: Vec<HourReport>,
    pub(super) worst_hour_utc: Option<usize>,
    pub(super) invalid_arguments: Vec<Shape>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct HourReport {
    pub(super) calls: u64,
    pub(super) failed: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Shape {
    pub(super) arguments: String,
    pub(super) calls: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct UnknownReport {
    pub(super) calls: u64,
    pub(super) last: Vec<UnknownCall>,
}

#[derive(Debug, Serialize)]
pub(super) struct UnknownCall {
    pub(super) timestamp: String,
    pub(super) tool: String,
    pub(super) call_id: String,
    pub(super) error: String,
}

impl Report {
    pub(super) fn of(counts: &Counts) -> Self {
        let mut tools: Vec<_> = counts
            .tools
            .iter()
            .map(|(name, tool)| ToolReport::of(name, tool))
            .collect();
        // The tool with the most failures comes first.
        tools.sort_by(|a, b| {
            b.failed
                .cmp(&a.failed)
                .then(b.calls.cmp(&a.calls))
                .then_with(|| a.name.cmp(&b.name))
        });
        let unknown = |call: &Unknown| UnknownCall {
            timestamp: call.timestamp.clone(),
            tool: call.tool.clone(),
            call_id: call.call_id.clone(),
            error: call.error.clone(),
        };
        Self {
            lines: counts.lines,
            broken: counts.broken,
            other: counts.other,
            lost: counts.lost,
            first: counts.first.clone(),
            last: counts.last.clone(),
            total: ToolReport::of("all", &counts.all),
            tools,
            unknown_outcome: UnknownReport {
                calls: counts.unknown,
                last: counts.last_unknown.iter().map(unknown).collect(),
            },
        }
    }
}

impl ToolReport {
    fn of(name: &str, tool: &Tool) -> Self {
        let shapes = tool.invalid.top(SHAPES).into_iter();
        Self {
            name: name.to_owned(),
            calls: tool.calls,
            success: tool.success,
            failed: tool.failed,
            cancelled: tool.cancelled,
            interim: tool.interim,
            failures_by_class: tool.classes.clone(),
            repeated_calls: tool.repeated_calls,
            repeats: tool.repeats,
            waited_ms: tool.waited_ms,
            p50_ms: tool.latency.quantile(0.5),
            p95_ms: tool.latency.quantile(0.95),
            p99_ms: tool.latency.quantile(0.99),
            hours_utc: tool
                .hours
                .iter()
                .map(|hour| HourReport {
                    calls: hour.calls,
                    failed: hour.failed,
                })
                .collect(),
            worst_hour_utc: worst(&tool.hours),
            invalid_arguments: shapes
                .map(|(arguments, calls)| Shape { arguments, calls })
                .collect(),
        }
    }
}

/// The hour with at least ten failures, and at least three times the failure rate of the rest of the
/// day.
fn worst(hours: &[Hour; 24]) -> Option<usize> {
    let (at, worst) = (0..).zip(hours).max_by_key(|(_, hour)| hour.failed)?;
    let calls: u64 = hours.iter().map(|hour| hour.calls).sum();
    let failed: u64 = hours.iter().map(|hour| hour.failed).sum();
    let (other_calls, other_failed) = (calls - worst.calls, failed - worst.failed);
    // Compared by cross-multiplication, since there may be no other calls.
    let stands_out = worst.failed * other_calls >= 3 * other_failed * worst.calls;
    (worst.failed >= 10 && stands_out).then_some(at)
}
