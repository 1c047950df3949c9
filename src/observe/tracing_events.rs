use super::{Event, Observer};
use crate::text::shown_name;
use std::time::Duration;

/// Writes decisions as events of `tracing`. The default of all layers.
///
/// | Event | Level | Target |
/// |---|---|---|
/// | [`RetryScheduled`](Event::RetryScheduled) | debug | `mcp_resilience::retry` |
/// | [`CallHeld`](Event::CallHeld) | debug | `mcp_resilience::retry` |
/// | [`DialFailed`](Event::DialFailed), [`ConnectionLost`](Event::ConnectionLost) | warn | `mcp_resilience::reconnect` |
/// | [`ResultFlagged`](Event::ResultFlagged), of a call without a log line | warn | `mcp_resilience::is_error` |
/// | [`ProbeStarted`](Event::ProbeStarted), [`ProbeFailed`](Event::ProbeFailed) | debug | `mcp_resilience::reconnect` |
///
/// The other events are in the [log line](crate::call_log) of the call, or follow from these.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingEvents;

impl Observer for TracingEvents {
    fn on_event(&self, event: &Event<'_>) {
        match *event {
            Event::RetryScheduled {
                call,
                failure,
                wait,
                ..
            } => tracing::debug!(
                target: "mcp_resilience::retry",
                attempt = call.attempt(),
                class = failure.class().as_str(),
                wait_ms = millis(wait),
                error = %failure.chain(),
                "attempt failed and will be repeated"
            ),
            Event::CallHeld { call, class, wait } => tracing::debug!(
                target: "mcp_resilience::retry",
                attempt = call.attempt(),
                class = class.as_str(),
                wait_ms = millis(wait),
                "the server asked an earlier call to wait, and this one waits too"
            ),
            Event::DialFailed { failure, .. } => tracing::warn!(
                target: "mcp_resilience::reconnect",
                class = failure.class().as_str(),
                error = %failure.chain(),
                "cannot connect to the tool server"
            ),
            Event::ConnectionLost {
                generation,
                failure,
            } => tracing::warn!(
                target: "mcp_resilience::reconnect",
                generation = generation,
                class = failure.class().as_str(),
                error = %failure.chain(),
                "connection lost, the next call gets a new one"
            ),
            // If the call has a log line, that says it.
            Event::ResultFlagged { call, failure } if call.id().is_none() => tracing::warn!(
                target: "mcp_resilience::is_error",
                tool = shown_name(call.name()),
                error = %failure.chain(),
                "a result that is a failure had no flag, and was flagged"
            ),
            Event::ProbeStarted { generation } => tracing::debug!(
                target: "mcp_resilience::reconnect",
                generation = generation,
                "no answer in time, the connection is probed"
            ),
            Event::ProbeFailed {
                generation,
                failure,
            } => tracing::debug!(
                target: "mcp_resilience::reconnect",
                generation = generation,
                class = failure.class().as_str(),
                error = %failure.chain(),
                "the probe failed"
            ),
            _ => {}
        }
    }
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}
