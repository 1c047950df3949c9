use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// The fields of a line that the report needs. All others are skipped.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow)]
    pub(super) timestamp: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) event: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) tool: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) prompt: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) outcome: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) attempts: u64,
    #[serde(default)]
    pub(super) latency_ms: u64,
    #[serde(default)]
    pub(super) waited_ms: u64,
    #[serde(borrow, default)]
    pub(super) class: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) delivery: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) error: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) lost: u64,
}

/// The arguments of a line. Read only if they made the call fail.
#[derive(Debug, Deserialize)]
pub(super) struct Arguments {
    pub(super) arguments: Option<Value>,
}

impl Line<'_> {
    /// The name of the tool or prompt. Resources are counted together, because they have too many
    /// URIs.
    pub(super) fn subject(&self) -> Option<&str> {
        match (&self.tool, &self.prompt, self.method.as_deref()) {
            (Some(tool), _, _) => Some(tool),
            (None, Some(prompt), _) => Some(prompt),
            (None, None, Some("resources/read")) => Some("resources/read"),
            _ => None,
        }
    }

    /// The hour of day at the end of the call, in UTC.
    pub(super) fn hour(&self) -> Option<usize> {
        let hour = self.timestamp.get(11..13)?.parse().ok()?;
        (hour < 24 && self.timestamp.as_bytes().get(10) == Some(&b'T')).then_some(hour)
    }
}
