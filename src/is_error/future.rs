use super::{envelope, layer::Settings, protocol, target::Target, text};
use crate::{
    call::{Flagged, Method, ToolResult},
    failure::{BoxError, Class, Failure},
    ledger::{CallId, Ledger},
    observe::{CallRef, Event, Observers},
};
use pin_project::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

/// Response future of [`IsError`](super::IsError).
#[pin_project]
pub struct ResponseFuture<F> {
    #[pin]
    answer: F,
    target: Target,
    settings: Settings,
    ledger: Option<Ledger>,
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(
        answer: F,
        target: Target,
        settings: Settings,
        ledger: Option<Ledger>,
    ) -> Self {
        Self {
            answer,
            target,
            settings,
            ledger,
        }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<R, E>>,
    R: ToolResult,
    E: Into<BoxError>,
{
    type Output = Result<R, Failure>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let ledger = this.ledger.as_ref();
        Poll::Ready(match ready!(this.answer.poll(cx)) {
            Ok(result) => Ok(see_through(result, this.target, this.settings, ledger)),
            Err(error) => flag_in(Failure::from_any(error), this.target, ledger),
        })
    }
}

debug_name!(ResponseFuture<F>);

/// Flags a result that is a failure without a flag.
#[inline]
fn see_through<R: ToolResult>(
    mut result: R,
    target: &Target,
    settings: &Settings,
    ledger: Option<&Ledger>,
) -> R {
    if result.is_error() || result.is_interim() || target.method() != Method::CallTool {
        return result;
    }
    let settings = settings.get();
    let detectors = &settings.detectors;
    if let Some(failure) = detectors.find_failure(&result, || target.hints()) {
        result.flag();
        tell_flagged(failure, target, &settings.observers, ledger);
    }
    result
}

#[cold]
fn tell_flagged(failure: Failure, target: &Target, observers: &Observers, ledger: Option<&Ledger>) {
    observers.tell(&Event::ResultFlagged {
        call: CallRef::of(target.method(), target.raw_name(), None),
        failure: &failure,
    });
    if let Some(ledger) = ledger {
        ledger.note(|notes| {
            notes.was_unflagged = true;
            notes.failure = Some(failure);
        });
    }
}

/// Answers a failure with a flagged result, or passes it to the host.
pub(crate) fn flag<R: ToolResult>(failure: Failure, target: &Target) -> Result<R, Failure> {
    flag_in(failure, target, Ledger::of(|| None).as_ref())
}

fn flag_in<R: ToolResult>(
    failure: Failure,
    target: &Target,
    ledger: Option<&Ledger>,
) -> Result<R, Failure> {
    let mut failure = failure.without_foreign_error();
    // A rule may have read a failure from a result without a flag. Without one it would look like a
    // success.
    if let Some(result) = failure.take_result::<R>().filter(ToolResult::is_error) {
        hand_over(failure, ledger);
        return Ok(result);
    }
    let id = ledger.map_or_else(CallId::random, Ledger::id);
    // Without a call log, report the crash as an event.
    if failure.class() == Class::Crash && ledger.is_none() {
        report(&failure, id);
    }
    let is_for_the_host = target.method() != Method::CallTool
        || failure.rpc_error().is_some()
        || failure.is_for_host()
        || matches!(
            failure.class(),
            Class::Protocol | Class::Cancelled | Class::Fatal
        );
    if !is_for_the_host && let Some(result) = R::from_failure(flagged(&failure, target, id)) {
        hand_over(failure, ledger);
        return Ok(result);
    }
    if failure.rpc_error().is_none() {
        let error = protocol::error(&failure, target);
        failure.set_rpc_error(error);
    }
    Err(failure.spent())
}

fn flagged(failure: &Failure, target: &Target, id: CallId) -> Flagged {
    let text = text::for_model(failure, target, id);
    let envelope = envelope::of(failure, target);
    // A client may check the structured content against a schema that is unknown here.
    let (structured, meta) = match target.hints().declares_output_schema() {
        Some(false) => (Some(envelope), None),
        Some(true) | None => (None, Some(envelope::as_meta(envelope))),
    };
    Flagged::new(text, structured, meta)
}

/// The result hides the failure, so the log gets the failure itself.
fn hand_over(failure: Failure, ledger: Option<&Ledger>) {
    if let Some(ledger) = ledger {
        ledger.note(|notes| notes.failure = Some(failure));
    }
}

fn report(failure: &Failure, id: CallId) {
    tracing::error!(call_id = %id, error = %failure.chain(), "a tool failed unexpectedly");
}
