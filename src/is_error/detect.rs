//! Detectors of failures without a flag.
//!
//! The layer uses [`envelope`]. The others guess, and are for servers that are known to forget the
//! flag.
//!
//! ```
//! use mcp_resilience::is_error::{IsErrorLayer, detect};
//!
//! let layer = IsErrorLayer::new()
//!     .detect(detect::failure_in_text)
//!     .detect(|result| result.texts().any(|text| text == "UNKNOWN"));
//! # let _ = layer;
//! ```

use crate::{
    call::{Hints, ToolResult},
    classify::read_unflagged,
    failure::{Failure, MESSAGE_LIMIT, SCAN_LIMIT, first},
};
use serde_json::{Map, Value};
use std::{fmt, sync::Arc};

/// The parts of an unflagged result that a detector sees.
#[derive(Debug)]
pub struct Unflagged<'a> {
    structured: Option<&'a Value>,
    texts: Vec<&'a str>,
    is_empty: bool,
}

impl<'a> Unflagged<'a> {
    /// The view of a result, for tests of a detector.
    pub fn of(result: &'a impl ToolResult) -> Self {
        Self {
            structured: result.structured(),
            texts: result.texts().collect(),
            is_empty: result.is_empty(),
        }
    }

    /// The structured content.
    #[must_use]
    pub fn structured(&self) -> Option<&'a Value> {
        self.structured
    }

    /// The text blocks.
    pub fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.texts.iter().copied()
    }

    /// Whether a model could read nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }
}

/// Structured content with a text in `error` or `message`, and a `code` (or `error_code`) of the
/// [table](crate::failure#the-classes). The codes of other servers do not count: a document about a
/// `timeout` may have such a code too.
#[must_use]
pub fn envelope(result: &Unflagged<'_>) -> bool {
    result.structured.and_then(read_unflagged).is_some()
}

/// A result with nothing to read. Many tools that only do something answer so, and mean success.
#[must_use]
pub fn empty_content(result: &Unflagged<'_>) -> bool {
    result.is_empty
}

/// A text that is a JSON object and says that it is a failure: an [`envelope`], `"success": false`,
/// `"ok": false`, `"isError": true`, or `"status": "error"`.
#[must_use]
pub fn failure_in_text(result: &Unflagged<'_>) -> bool {
    result.texts().any(|text| {
        let is_candidate = text.len() <= SCAN_LIMIT && text.trim_start().starts_with('{');
        is_candidate
            && serde_json::from_str(text)
                .is_ok_and(|json| read_unflagged(&json).is_some() || calls_itself_a_failure(&json))
    })
}

fn calls_itself_a_failure(value: &Value) -> bool {
    let is = |object: &Map<String, Value>, key, expected: Value| object.get(key) == Some(&expected);
    value.as_object().is_some_and(|object| {
        is(object, "success", false.into())
            || is(object, "ok", false.into())
            || is(object, "isError", true.into())
            || is(object, "status", "error".into())
    })
}

type Detector = Arc<dyn Fn(&Unflagged<'_>) -> bool + Send + Sync>;

/// The detectors of a layer.
#[derive(Clone)]
pub(super) struct Detectors {
    sees_envelopes: bool,
    more: Vec<Detector>,
}

impl Detectors {
    pub(super) const DEFAULT: Self = Self {
        sees_envelopes: true,
        more: Vec::new(),
    };

    pub(super) fn trust_envelopes(&mut self) {
        self.sees_envelopes = false;
    }

    pub(super) fn add(
        &mut self,
        is_failure: impl Fn(&Unflagged<'_>) -> bool + Send + Sync + 'static,
    ) {
        self.more.push(Arc::new(is_failure));
    }

    /// The failure that an unflagged result means, if it is one.
    ///
    /// If the tool declares a schema, its structured content is never a failure.
    #[inline]
    pub(super) fn find_failure(
        &self,
        result: &impl ToolResult,
        hints: impl FnOnce() -> Hints,
    ) -> Option<Failure> {
        let envelope = result
            .structured()
            .filter(|_| self.sees_envelopes && hints().declares_output_schema() != Some(true));
        let failure = envelope.and_then(read_unflagged);
        if self.more.is_empty() {
            return failure;
        }
        failure.or_else(|| self.guess(result))
    }

    fn guess(&self, result: &impl ToolResult) -> Option<Failure> {
        let unflagged = Unflagged::of(result);
        let text = unflagged.texts.first().copied().unwrap_or_default();
        let is_one = self.more.iter().any(|is_failure| is_failure(&unflagged));
        is_one.then(|| Failure::tool(first(text, MESSAGE_LIMIT).to_owned()))
    }
}

impl fmt::Debug for Detectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detectors")
            .field("sees_envelopes", &self.sees_envelopes)
            .field("more", &self.more.len())
            .finish()
    }
}
