//! What a model reads.

use super::escape::escaped;
use crate::{
    call::Target,
    failure::{Class, Delivery, Failure, Stopped},
    ledger::CallId,
};
use std::{fmt::Write, time::Duration};

const NAME_LIMIT: usize = 128;
const MESSAGE_LIMIT: usize = 4 * 1024;

/// What failed, why, and what to do; of a crash only that it failed.
pub(super) fn for_model(failure: &Failure, target: &Target, id: CallId) -> String {
    let mut text = headline(target);
    if failure.class() == Class::Crash {
        // The same id is on the log line, and nothing else of the error leaves the process.
        let _ = write!(text, " (call {id})");
        return text;
    }
    text.push_str(": ");
    text.push_str(&message(failure));
    if let Some(advice) = advice(failure, target) {
        if !text.ends_with(['.', '!', '?']) {
            text.push('.');
        }
        text.push(' ');
        text.push_str(&advice);
    }
    text
}

/// `Error executing tool NAME`.
pub(super) fn headline(target: &Target) -> String {
    format!(
        "Error executing tool {}",
        escaped(target.name(), NAME_LIMIT)
    )
}

/// The failure's message; never empty, and with the class where it says nothing itself.
pub(super) fn message(failure: &Failure) -> String {
    escaped(&failure.to_string(), MESSAGE_LIMIT)
}

fn advice(failure: &Failure, target: &Target) -> Option<String> {
    if let Some(tool) = failure.alternative() {
        return Some(format!(
            "Use the tool {} instead.",
            escaped(tool, NAME_LIMIT)
        ));
    }
    if may_have_run(failure, target) {
        return Some("It may have run; verify before repeating.".to_owned());
    }
    if let Some(wait) = failure.retry_after().filter(|wait| !wait.is_zero()) {
        let seconds = whole_seconds(wait);
        return Some(format!("Wait {seconds} s before calling it again."));
    }
    match failure.class() {
        Class::InvalidInput => Some(match failure.argument() {
            Some(argument) => format!(
                "Correct the argument `{}` and call it again.",
                escaped(argument, NAME_LIMIT)
            ),
            None => "Correct the arguments and call it again.".to_owned(),
        }),
        Class::Connection
        | Class::Timeout
        | Class::SessionLost
        | Class::RateLimited
        | Class::AtCapacity
        | Class::Unavailable => Some("Try again later.".to_owned()),
        Class::Unauthorized | Class::Disabled => {
            Some("Only the operator of the server can change that.".to_owned())
        }
        _ => None,
    }
}

/// Whether a second run could do harm, and nobody knows whether there was a first.
fn may_have_run(failure: &Failure, target: &Target) -> bool {
    let is_lost = matches!(
        failure.class(),
        Class::Connection | Class::Timeout | Class::SessionLost
    );
    failure.stopped() == Some(Stopped::MayHaveRun)
        || (is_lost && failure.delivery() == Delivery::Unknown && !target.hints().may_repeat())
}

/// Never fewer than the server asked for.
pub(super) fn whole_seconds(wait: Duration) -> u64 {
    let more = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(more)
}
