use super::{Policy, Problem};
use crate::call::CallOptions;
use std::time::Duration;

/// The longest that a call may go on with progress, unless it is set.
const CEILING: Duration = Duration::from_secs(60 * 60);

/// The retry window, unless it or the deadline is set: callers hang up after 60 s.
const RETRY_WINDOW: Duration = Duration::from_secs(55);

/// The limits of time of a call, with all defaults applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The limit of an attempt. `None` if another limit ends it no later.
    pub(crate) attempt: Option<Duration>,
    /// The same without a deadline, for a call that has a deadline of its own.
    without_deadline: Option<Duration>,
    /// The longest that an attempt goes on with progress. A call with a deadline goes on for at least
    /// this time.
    pub(crate) ceiling: Duration,
    pub(crate) deadline: Option<Duration>,
    pub(crate) retry_window: Option<Duration>,
}

impl Limits {
    /// Takes from the layer's settings, else from the defaults, what a policy leaves out.
    ///
    /// Only settings of the policy can contradict each other. Those of the layer adapt.
    pub(crate) fn new(
        policy: &Policy,
        layer: &Policy,
        default_attempt: Option<Duration>,
    ) -> Result<Self, Problem> {
        policy.check()?;
        let ceiling = policy.ceiling.or(layer.ceiling);
        let deadline = policy.deadline.or(layer.deadline);
        check_attempt(policy.attempt_timeout, deadline.flatten(), ceiling)?;
        if let (Some(Some(deadline)), Some(ceiling)) = (policy.deadline, ceiling)
            && deadline > ceiling
        {
            return Err(Problem::DeadlineBeyondCeiling { deadline, ceiling });
        }
        if let (Some(Some(window)), Some(Some(deadline))) = (policy.retry_window, deadline)
            && window > deadline
        {
            return Err(Problem::WindowBeyondDeadline { window, deadline });
        }
        let window = policy.retry_window.or(layer.retry_window);
        let deadline = deadline.flatten();
        // A deadline says how long the caller waits. `no_deadline` says nothing about that.
        let window = window.unwrap_or(Some(deadline.unwrap_or(RETRY_WINDOW)));
        let within_ceiling = |limit: Duration| ceiling.map_or(limit, |ceiling| limit.min(ceiling));
        let said = policy.attempt_timeout.or(layer.attempt_timeout);
        // If the deadline ends it no later, the failure names the deadline.
        let default =
            default_attempt.filter(|limit| deadline.is_none_or(|deadline| *limit < deadline));
        let attempt = said.or(default).map(within_ceiling);
        let longest = [attempt, deadline].into_iter().flatten().max();
        let longest = longest.unwrap_or_default();
        Ok(Self {
            attempt,
            without_deadline: said.or(default_attempt).map(within_ceiling),
            ceiling: ceiling.unwrap_or_else(|| CEILING.max(longest)),
            deadline,
            retry_window: match (window, deadline) {
                (Some(window), Some(deadline)) => Some(window.min(deadline)),
                (window, deadline) => window.or(deadline),
            },
        })
    }
}

impl Limits {
    /// The same for a call with limits of its own. All other limits adapt to them.
    pub(crate) fn with(self, options: &CallOptions) -> Self {
        let inherited = match options.deadline {
            // If the deadline ends it no later, the failure names the deadline.
            Some(deadline) => self.without_deadline.filter(|limit| *limit < deadline),
            None => self.attempt,
        };
        let attempt = options.attempt_timeout.or(inherited);
        let raised = self
            .deadline
            .max(self.deadline.and(options.attempt_timeout));
        let deadline = options.deadline.or(raised);
        let longest = attempt.max(deadline).unwrap_or_default();
        Self {
            attempt,
            without_deadline: self.without_deadline,
            deadline,
            ceiling: self.ceiling.max(longest),
            retry_window: options.deadline.or(self.retry_window),
        }
    }
}

fn check_attempt(
    limit: Option<Duration>,
    deadline: Option<Duration>,
    ceiling: Option<Duration>,
) -> Result<(), Problem> {
    let Some(limit) = limit else {
        return Ok(());
    };
    match (deadline, ceiling) {
        (Some(deadline), _) if limit > deadline => {
            Err(Problem::AttemptBeyondDeadline { limit, deadline })
        }
        (_, Some(ceiling)) if limit > ceiling => {
            Err(Problem::AttemptBeyondCeiling { limit, ceiling })
        }
        _ => Ok(()),
    }
}
