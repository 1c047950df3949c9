//! The text for the model.

use super::target::Target;
use crate::{
    failure::{Audience, Class, Delivery, Failure, MESSAGE_LIMIT, NAME_LIMIT, Stopped, escaped},
    ledger::CallId,
};
use std::{fmt::Write, time::Duration};

/// What failed, why, and what to do. For a crash, only that it failed.
pub(super) fn for_model(failure: &Failure, target: &Target, id: CallId) -> String {
    let mut text = headline(target);
    if failure.class() == Class::Crash {
        // The log line has the same id. Nothing else of the error leaves the process.
        let _ = write!(text, " (call {id})");
        return text;
    }
    text.push_str(": ");
    text.push_str(&message(failure));
    let verify = must_verify(failure, target).then(|| {
        let ran = match failure.delivery() {
            Delivery::Executed => "has run",
            _ => "may have run",
        };
        format!("It {ran}; verify before repeating.")
    });
    let alternative = failure
        .alternative()
        .map(|tool| format!("Use the tool {} instead.", escaped(tool, NAME_LIMIT, &[])));
    let advice = match (&verify, &alternative) {
        (None, None) => advice(failure),
        (Some(_), None) => wait(failure),
        _ => None,
    };
    for sentence in [verify, alternative, advice].into_iter().flatten() {
        if !text.ends_with(['.', '!', '?']) {
            text.push('.');
        }
        text.push(' ');
        text.push_str(&sentence);
    }
    text
}

/// `Error executing tool NAME`.
pub(super) fn headline(target: &Target) -> String {
    format!("Error executing tool {}", target.name())
}

/// The failure's message, or the phrase of its class. It may have several lines.
pub(super) fn message(failure: &Failure) -> String {
    escaped(&failure.to_string(), MESSAGE_LIMIT, &['\n', '\t'])
}

/// The advice, by who has to act.
fn advice(failure: &Failure) -> Option<String> {
    match failure.class().audience() {
        Audience::Model if failure.class() == Class::InvalidInput => {
            Some(match failure.argument() {
                Some(argument) => format!(
                    "Correct the argument `{}` and call it again.",
                    escaped(argument, NAME_LIMIT, &[])
                ),
                None => "Correct the arguments and call it again.".to_owned(),
            })
        }
        Audience::Operator if failure.class() != Class::InvalidOutput => {
            Some("Only the operator of the server can change that.".to_owned())
        }
        // Do not advise to wait if the call must not be repeated.
        _ if failure.retryable() == Some(false) => None,
        _ => wait(failure).or_else(|| {
            let is_advised = failure.class().heals() && failure.class() != Class::Upstream;
            is_advised.then(|| "Try again later.".to_owned())
        }),
    }
}

/// How long to wait, if the server said so.
fn wait(failure: &Failure) -> Option<String> {
    let wait = failure.retry_after().filter(|wait| !wait.is_zero())?;
    let seconds = whole_seconds(wait);
    Some(format!("Wait {seconds} s before calling it again."))
}

/// Whether the model might repeat the call unchanged although it may have run, and a second run could
/// do harm.
fn must_verify(failure: &Failure, target: &Target) -> bool {
    if failure.stopped() == Some(Stopped::MayHaveRun) {
        return true;
    }
    let is_tempting = failure.class().heals() || failure.class() == Class::InvalidOutput;
    let is_harmless = target.hints().may_repeat() || failure.retryable() == Some(true);
    is_tempting && !failure.delivery().did_not_run() && !is_harmless
}

/// Rounded up.
pub(super) fn whole_seconds(wait: Duration) -> u64 {
    let more = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(more)
}
