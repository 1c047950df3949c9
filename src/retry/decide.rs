//! Decides whether a failed call is repeated, and after which wait.

use super::{
    settings::{Permission, Settings},
    verdict::Verdict,
};
use crate::{
    backoff::Waits,
    failure::{Delivery, Failure, Repeats, Stopped},
};
use std::time::Duration;

/// The gate: whether repeating this call could cause harm.
///
/// `ran_before`: an earlier attempt may have run, with a permission that no longer holds. Then a
/// repeat is unsafe even if the last attempt did not run.
pub(super) fn verdict(failure: &Failure, permission: Permission, ran_before: bool) -> Verdict {
    if failure.stopped().is_some() || failure.retryable() == Some(false) {
        return Verdict::Final;
    }
    match failure.class().repeats() {
        Repeats::Never => return Verdict::Final,
        Repeats::OnRequest if failure.retryable() != Some(true) => return Verdict::Final,
        Repeats::OnRequest | Repeats::ByDelivery => {}
    }
    let did_not_run = match permission {
        _ if ran_before => false,
        // A refusal is only a claim of the server, which is not trusted.
        Permission::ServerIsNotTrusted => failure.delivery() == Delivery::NotSent,
        _ => failure.delivery().did_not_run(),
    };
    let may_run_twice = match permission {
        Permission::MayRunTwice | Permission::Hinted => true,
        // If the call has run, a repeat returns the same answer.
        Permission::RunsOnce => failure.delivery() == Delivery::Unknown,
        Permission::Unsaid => failure.retryable() == Some(true),
        Permission::NeverTwice | Permission::ServerIsNotTrusted => false,
    };
    if did_not_run || may_run_twice {
        Verdict::Repeat
    } else {
        Verdict::MayHaveRun
    }
}

/// The time left before a limit. Waits and further attempts have to fit in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// `None` without such a limit.
    pub(super) left: Option<Duration>,
    /// The time that the next attempt needs at least.
    pub(super) needed: Duration,
    /// The reason, if a wait does not fit.
    pub(super) stopped: Stopped,
}

impl Room {
    /// A wait must be shorter than the rest, since the attempt needs time too.
    pub(super) fn fit(self, wait: Duration) -> Result<(), Stopped> {
        let fits = self
            .left
            .is_none_or(|left| wait < left && left.saturating_sub(wait) >= self.needed);
        fits.then_some(()).ok_or(self.stopped)
    }

    fn longest(self) -> Option<Duration> {
        let left = self.left?;
        let shortest = self.needed.max(Duration::from_millis(1));
        Some(left.saturating_sub(shortest))
    }
}

/// The wait before the next attempt, or why there is none.
pub(super) fn wait(
    hint: Option<Duration>,
    ceiling: Duration,
    rooms: [Room; 2],
    settings: &Settings,
) -> Result<Duration, Stopped> {
    let fit = |wait| rooms.into_iter().try_for_each(|room| room.fit(wait));
    let Some(floor) = hint.filter(|hint| !hint.is_zero()) else {
        let wait = match settings.waits {
            Waits::Ceilings(_) => settings.jitter.draw(ceiling),
            Waits::Own(_) => ceiling,
        };
        return fit(wait).map(|()| wait);
    };
    if floor > settings.max_retry_after() {
        return Err(Stopped::HintTooLong);
    }
    fit(floor)?;
    // Jitter may be shortened, the floor may not.
    let longest = rooms.into_iter().filter_map(Room::longest).min();
    let widest = match longest {
        Some(longest) => ceiling.max(floor / 2).min(longest.saturating_sub(floor)),
        None => ceiling.max(floor / 2),
    };
    Ok(floor.saturating_add(settings.jitter.spread(widest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Class;

    #[test]
    fn only_a_call_that_did_not_run_or_may_run_twice_passes_the_gate() {
        use Delivery::{Executed, NotSent, Refused, Unknown};
        use Permission::{MayRunTwice, NeverTwice, RunsOnce, ServerIsNotTrusted, Unsaid};
        use Verdict::{Final, MayHaveRun, Repeat};
        let cases = [
            (Class::Connection, NotSent, Unsaid, None, Repeat),
            (Class::Connection, NotSent, NeverTwice, None, Repeat),
            (Class::Connection, Unknown, Unsaid, None, MayHaveRun),
            (Class::Connection, Unknown, MayRunTwice, None, Repeat),
            (Class::Connection, Unknown, RunsOnce, None, Repeat),
            (Class::Unavailable, Unknown, RunsOnce, Some(false), Final),
            (Class::Upstream, Executed, RunsOnce, None, MayHaveRun),
            (Class::Crash, Unknown, RunsOnce, None, Final),
            (
                Class::Connection,
                Unknown,
                NeverTwice,
                Some(true),
                MayHaveRun,
            ),
            (Class::Timeout, Unknown, Unsaid, Some(true), Repeat),
            (Class::Timeout, Executed, Unsaid, None, MayHaveRun),
            (Class::SessionLost, Refused, Unsaid, None, Repeat),
            (Class::RateLimited, Refused, Unsaid, None, Repeat),
            (Class::RateLimited, Refused, MayRunTwice, Some(false), Final),
            (
                Class::RateLimited,
                Refused,
                ServerIsNotTrusted,
                Some(true),
                MayHaveRun,
            ),
            (Class::Connection, NotSent, ServerIsNotTrusted, None, Repeat),
            (Class::Upstream, Executed, Unsaid, None, MayHaveRun),
            (Class::Upstream, Executed, Unsaid, Some(true), Repeat),
            (Class::Upstream, Executed, MayRunTwice, None, Repeat),
            (Class::Tool, Executed, MayRunTwice, None, Final),
            (Class::Tool, Executed, Unsaid, Some(true), Repeat),
            (Class::InvalidInput, Refused, MayRunTwice, Some(true), Final),
            (Class::Crash, Unknown, MayRunTwice, Some(true), Final),
            (Class::Cancelled, NotSent, MayRunTwice, Some(true), Final),
            (Class::Fatal, NotSent, MayRunTwice, Some(true), Final),
        ];
        for (class, delivery, permission, retryable, expected) in cases {
            let failure = Failure::new(class, "")
                .with_delivery(delivery)
                .with_retryable(retryable);
            assert_eq!(
                verdict(&failure, permission, false),
                expected,
                "{class}, {delivery}, {permission:?}, retryable: {retryable:?}"
            );
        }
    }

    #[test]
    fn what_was_given_up_once_is_final() {
        let mut failure = Failure::rate_limited(None);
        failure.set_stopped(Stopped::Attempts);
        assert_eq!(
            verdict(&failure, Permission::MayRunTwice, false),
            Verdict::Final
        );
    }
}
