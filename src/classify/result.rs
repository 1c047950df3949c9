//! Flagged results.

use super::{envelope::Envelope, rules::Rules, texts};
use crate::{
    call::ToolResult,
    failure::{Class, Delivery, Failure, MESSAGE_LIMIT, META_KEY, SCAN_LIMIT, first},
};
use serde_json::Value;

/// Lets a result pass, or makes a failure of it that holds it.
#[inline]
pub(super) fn classify<R: ToolResult>(mut result: R, rules: &Rules) -> Result<R, Failure> {
    if result.is_interim() {
        return Ok(result);
    }
    if let Some(failure) = rules.on_result(&result) {
        result.flag();
        return Err(failure.with_result(result));
    }
    if !result.is_error() {
        return Ok(result);
    }
    let failure = read(&result);
    Err(failure.with_result(result))
}

fn read(result: &impl ToolResult) -> Failure {
    let envelope = envelope(result);
    let text = result.texts().map(str::trim).find(|text| !text.is_empty());
    let (class, delivery) = match envelope.class() {
        Some(named) => named,
        None => text
            .and_then(texts::class)
            .unwrap_or((Class::Tool, Delivery::Executed)),
    };
    let failure = envelope.into_failure(class).with_delivery(delivery);
    match (failure.message(), text) {
        (None, Some(text)) => failure.with_message(first(text, MESSAGE_LIMIT).to_owned()),
        _ => failure,
    }
}

/// The envelope of the structured content, else of the first text that is one, else ours in
/// `_meta`; all the others may add a wait, or that a repeat is not fine.
fn envelope(result: &impl ToolResult) -> Envelope {
    let says_something = |envelope: &Envelope| envelope.says_something();
    let structured = result.structured().map(Envelope::read);
    let in_text = result
        .texts()
        .filter_map(json)
        .map(|json| Envelope::read(&json));
    let mut all = structured.into_iter().chain(in_text).filter(says_something);
    let mut envelope = all
        .next()
        .or_else(|| result.meta()?.get(META_KEY).map(Envelope::read))
        .unwrap_or_default();
    // What else was said of a repeat: the longest wait counts, and whoever says no.
    for other in all {
        envelope.add_hints(&other);
    }
    if let Some(meta) = result.meta() {
        envelope.add_hints_of(meta);
    }
    envelope
}

fn json(text: &str) -> Option<Value> {
    let is_candidate = text.len() <= SCAN_LIMIT && text.trim_start().starts_with('{');
    is_candidate.then(|| serde_json::from_str(text).ok())?
}
