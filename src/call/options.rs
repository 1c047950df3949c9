use std::time::Duration;

/// Settings of one call. They have precedence over those of its tool and of the layers.
///
/// A client sets them by its own methods, a request type of yours by
/// [`ToolCall::options`](super::ToolCall::options).
///
/// Options that are not set adapt to those that are:
///
/// - an attempt timeout that is longer than the layers' deadline raises that deadline;
/// - with a deadline, attempts keep their usual limit if that is shorter;
/// - with a deadline, the longest [wait](crate::retry::RetryBuilder::max_retry_after) follows it,
///   unless that is set.
///
/// ```
/// use mcp_resilience::call::CallOptions;
/// use std::time::Duration;
///
/// let mut options = CallOptions::new();
/// options.deadline = Some(Duration::from_secs(600));
/// options.max_attempts = Some(1);
/// assert_eq!(options.problem(), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOptions {
    /// How long an attempt may go on without an answer or a report of progress.
    pub attempt_timeout: Option<Duration>,
    /// How long the whole call may go on without an answer or a report of progress. Also the time
    /// in which it may be repeated.
    pub deadline: Option<Duration>,
    /// The number of attempts, including the first. 1 for no repeat.
    pub max_attempts: Option<u32>,
    /// Whether the call may run twice. Overrides its hints.
    pub repeat_ok: Option<bool>,
}

impl CallOptions {
    /// Nothing is set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Why the options cannot work. A layer uses such options as they are.
    #[must_use]
    pub fn problem(&self) -> Option<&'static str> {
        let is_zero = |limit: Option<Duration>| limit.is_some_and(|limit| limit.is_zero());
        if is_zero(self.attempt_timeout) {
            return Some("`attempt_timeout` is zero: give an attempt some time");
        }
        if is_zero(self.deadline) {
            return Some("`deadline` is zero: give the call some time");
        }
        if self.max_attempts == Some(0) {
            return Some("`max_attempts` is zero: the call would not be made");
        }
        let is_longer = |(attempt, deadline): (Duration, Duration)| attempt > deadline;
        let both = self.attempt_timeout.zip(self.deadline);
        both.is_some_and(is_longer)
            .then_some("`attempt_timeout` is longer than `deadline`: raise the deadline")
    }
}
