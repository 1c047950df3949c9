//! Flagged results.

use super::{envelope::Envelope, lookup::Lookup, rules::Rules, texts, vocabulary as known};
use crate::{
    call::ToolResult,
    failure::{Class, Delivery, Failure, MESSAGE_LIMIT, META_KEY, SCAN_LIMIT, first},
    text::is_blank,
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
    let failure = read(&result, rules.lookup());
    Err(failure.with_result(result))
}

fn read(result: &impl ToolResult, lookup: Lookup<'_>) -> Failure {
    let envelope = envelope(result, lookup);
    let text = result
        .texts()
        .map(|text| first(text, MESSAGE_LIMIT).trim())
        .find(|text| !is_blank(text));
    let (class, delivery) = match envelope.class() {
        Some(named) => named,
        None => text
            .and_then(|text| texts::class(text, lookup))
            .unwrap_or((Class::Tool, Delivery::Executed)),
    };
    let failure = envelope.into_failure(class, lookup).with_delivery(delivery);
    match (failure.message(), text) {
        (None, Some(text)) => failure.with_message(text.to_owned()),
        _ => failure,
    }
}

/// The envelope of the structured content, else of the first text that is one, else one in `_meta`;
/// all the others may add a wait, or that a repeat is not fine.
fn envelope(result: &impl ToolResult, lookup: Lookup<'_>) -> Envelope {
    let read = |json: &Value| Envelope::read(json, lookup);
    let says_something = |envelope: &Envelope| envelope.says_something();
    let structured = result.structured().map(read);
    // Of all texts together.
    let mut left = SCAN_LIMIT;
    let in_text = result.texts().filter_map(|text| {
        left = left.checked_sub(text.len())?;
        Some(read(&json(text)?))
    });
    let mut all = structured.into_iter().chain(in_text).filter(says_something);
    let mut keys = std::iter::once(META_KEY).chain(known::META.iter().copied());
    let mut envelope = all
        .next()
        .or_else(|| {
            let meta = result.meta()?;
            keys.find_map(|key| meta.get(key)).map(read)
        })
        .unwrap_or_default();
    // What else was said of a repeat: the longest wait counts, and whoever says no.
    for other in all {
        envelope.add_cautions(&other);
    }
    if let Some(meta) = result.meta() {
        envelope.add_hints_of(meta, lookup);
    }
    envelope
}

fn json(text: &str) -> Option<Value> {
    let is_candidate = text.trim_start().starts_with('{');
    is_candidate.then(|| serde_json::from_str(text).ok())?
}
