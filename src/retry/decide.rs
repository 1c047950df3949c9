//! Whether a failed call is made again, and after which wait. Decides, and does nothing.

use super::policy::{Policy, Word};
use crate::failure::{Delivery, Failure, Repeats, Stopped};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Repeat,
    /// Waiting would not help, or the failure was given up before.
    Final,
    /// Waiting would help, but nothing tells that the call may run again.
    MayHaveRun,
}

/// The gate: whether a repeat of this call is anybody's harm.
pub(super) fn verdict(failure: &Failure, word: Word) -> Verdict {
    if failure.stopped().is_some() || failure.retryable() == Some(false) {
        return Verdict::Final;
    }
    match failure.class().repeats() {
        Repeats::Never => return Verdict::Final,
        Repeats::OnRequest if failure.retryable() != Some(true) => return Verdict::Final,
        Repeats::OnRequest | Repeats::ByDelivery => {}
    }
    let did_not_run = match word {
        // That it refused the call is only what the server says.
        Word::ServerIsNotTrusted => failure.delivery() == Delivery::NotSent,
        _ => failure.delivery().did_not_run(),
    };
    let may_run_twice = match word {
        Word::MayRunTwice | Word::Hinted => true,
        Word::Unsaid => failure.retryable() == Some(true),
        Word::NeverTwice | Word::ServerIsNotTrusted => false,
    };
    if did_not_run || may_run_twice {
        Verdict::Repeat
    } else {
        Verdict::MayHaveRun
    }
}

/// The wait of a call that may be made again at once, if there is time left for it.
pub(super) fn no_wait(room: Option<Duration>) -> Result<Duration, Stopped> {
    match room {
        Some(Duration::ZERO) => Err(Stopped::Deadline),
        _ => Ok(Duration::ZERO),
    }
}

/// The wait before the next attempt, or why there is none.
///
/// `room` is what is left of the deadline. A wait must be shorter, for the attempt needs time too.
pub(super) fn wait(
    hint: Option<Duration>,
    ceiling: Duration,
    room: Option<Duration>,
    policy: &Policy,
) -> Result<Duration, Stopped> {
    let fits = |wait: Duration| room.is_none_or(|room| wait < room);
    let Some(floor) = hint.filter(|hint| !hint.is_zero()) else {
        let wait = match policy.waits {
            super::policy::Waits::Ceilings(_) => policy.jitter.draw(ceiling),
            super::policy::Waits::Own(_) => ceiling,
        };
        return fits(wait).then_some(wait).ok_or(Stopped::Deadline);
    };
    if floor > policy.max_retry_after {
        return Err(Stopped::HintTooLong);
    }
    if !fits(floor) {
        return Err(Stopped::Deadline);
    }
    let mut widest = ceiling.max(floor / 2);
    if let Some(room) = room {
        // What goes on top is ours to shorten; the floor is not.
        widest = widest.min(room.saturating_sub(floor.saturating_add(Duration::from_millis(1))));
    }
    Ok(floor.saturating_add(policy.jitter.spread(widest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Class;

    #[test]
    fn only_a_call_that_did_not_run_or_may_run_twice_passes_the_gate() {
        use Delivery::{Executed, NotSent, Refused, Unknown};
        use Verdict::{Final, MayHaveRun, Repeat};
        use Word::{MayRunTwice, NeverTwice, ServerIsNotTrusted, Unsaid};
        let cases = [
            (Class::Connection, NotSent, Unsaid, None, Repeat),
            (Class::Connection, NotSent, NeverTwice, None, Repeat),
            (Class::Connection, Unknown, Unsaid, None, MayHaveRun),
            (Class::Connection, Unknown, MayRunTwice, None, Repeat),
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
        for (class, delivery, word, retryable, expected) in cases {
            let failure = Failure::new(class, "")
                .with_delivery(delivery)
                .with_retryable(retryable);
            assert_eq!(
                verdict(&failure, word),
                expected,
                "{class}, {delivery}, {word:?}, retryable: {retryable:?}"
            );
        }
    }

    #[test]
    fn what_was_given_up_once_is_final() {
        let mut failure = Failure::rate_limited(None);
        failure.set_stopped(Stopped::Attempts);
        assert_eq!(verdict(&failure, Word::MayRunTwice), Verdict::Final);
    }
}
