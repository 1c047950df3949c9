//! Flagged results.

use super::{
    built_in as known, envelope::Envelope, lookup::Lookup, named::Named, rules::Rules, texts,
};
use crate::{
    call::ToolResult,
    failure::{Class, Failure, MESSAGE_LIMIT, SCAN_LIMIT, Witness, first},
    text::is_blank,
};
use serde_json::Value;

/// Passes a result, or makes a failure of it that holds it.
#[inline]
pub(super) fn classify<R: ToolResult>(mut result: R, rules: &Rules) -> Result<R, Failure> {
    if result.is_interim() {
        return Ok(result);
    }
    if let Some(failure) = rules.on_result(&result) {
        result.flag();
        let failure = failure.attributed_to(Witness::Author);
        return Err(failure.with_result(result));
    }
    if !result.is_error() {
        return Ok(result);
    }
    let failure = read(&result, rules.lookup());
    Err(failure.with_result(result))
}

/// Names a flagged result without rules of the user's.
#[cfg(feature = "rmcp-client")]
pub(crate) fn name_result<R: ToolResult>(result: R) -> Result<R, Failure> {
    classify(result, &Rules::default())
}

/// Applies the user's rules and words to a flagged result that a connection turned into a failure,
/// because a header had a wait.
pub(super) fn read_again<R: ToolResult>(mut failure: Failure, rules: &Rules) -> Failure {
    if !failure.is_unclassified_result() {
        return failure;
    }
    let Some(result) = failure.take_result::<R>() else {
        return failure;
    };
    match classify(result, rules) {
        Ok(result) => failure.with_result(result),
        Err(named) => {
            let wait = named.retry_after().max(failure.retry_after());
            named.with_retry_after(wait)
        }
    }
}

fn read(result: &impl ToolResult, lookup: Lookup<'_>) -> Failure {
    let envelope = envelope(result, lookup);
    let text = result
        .texts()
        .map(|text| first(text, MESSAGE_LIMIT).trim())
        .find(|text| !is_blank(text));
    let named = envelope
        .class()
        .or_else(|| texts::class(text?, lookup))
        .unwrap_or(Named::of(Class::Tool));
    let failure = envelope.into_failure(named);
    match (failure.message(), text) {
        (None, Some(text)) => failure.with_message(text.to_owned()),
        _ => failure,
    }
}

/// The envelope of the structured content, else of `_meta`, else of the first text that has one. All
/// others may add a wait, or that a repeat is not safe.
///
/// A text may repeat what a third party said, so it gives class, code and wait only. The same is true
/// of the whole result if a handler returned it.
fn envelope(result: &impl ToolResult, lookup: Lookup<'_>) -> Envelope {
    let structured = result.structured().into_iter();
    let meta = result.meta().into_iter();
    let meta = meta.flat_map(|meta| known::META.iter().filter_map(|key| meta.get(*key)));
    // A handler may pass on what a service said about another call.
    let speaker = if result.is_from_handler() {
        Witness::Hearsay
    } else {
        Witness::Server
    };
    let said = structured
        .chain(meta)
        .map(|json| Envelope::read(json, speaker, lookup));
    // Of all texts together.
    let mut left = SCAN_LIMIT;
    let in_text = result.texts().filter_map(|text| {
        left = left.checked_sub(text.len())?;
        Some(Envelope::read(&json(text)?, Witness::Hearsay, lookup))
    });
    let mut all = said.chain(in_text).filter(Envelope::says_something);
    let mut envelope = all
        .next()
        .unwrap_or_else(|| Envelope::empty(Witness::Hearsay));
    // All other hints about a repeat: the longest wait counts, and every "no".
    for other in all {
        envelope.add_cautions(&other);
    }
    if let Some(meta) = result.meta() {
        envelope.add_cautions_of(meta, lookup);
    }
    envelope
}

fn json(text: &str) -> Option<Value> {
    let is_candidate = text.trim_start().starts_with('{');
    is_candidate.then(|| crate::json::read(text).ok())?
}
