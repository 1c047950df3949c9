use super::{
    frequent::Frequent,
    line::{Arguments, Line},
    quantiles::Quantiles,
};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// How many tools are counted separately. A server has some dozens.
const TOOLS: usize = 500;

/// How many classes are counted for each tool. A log of a later version may have more than this
/// one.
const CLASSES: usize = 64;

/// How many calls with an unknown outcome are listed, latest first.
const UNKNOWN: usize = 20;

/// How many shapes of arguments are counted for each tool.
const SHAPES: usize = 32;

/// The longest text that is kept.
const TEXT: usize = 160;

/// The counts over all lines.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) lines: u64,
    pub(super) broken: u64,
    pub(super) other: u64,
    pub(super) lost: u64,
    pub(super) first: Option<String>,
    pub(super) last: Option<String>,
    pub(super) all: Tool,
    pub(super) tools: HashMap<String, Tool>,
    pub(super) unknown: u64,
    pub(super) last_unknown: VecDeque<Unknown>,
}

/// The counts of one tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) calls: u64,
    pub(super) success: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
    pub(super) interim: u64,
    pub(super) repeats: u64,
    pub(super) repeated_calls: u64,
    pub(super) waited_ms: u64,
    pub(super) latency: Quantiles,
    pub(super) classes: BTreeMap<String, u64>,
    pub(super) hours: [Hour; 24],
    pub(super) invalid: Frequent,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hour {
    pub(super) calls: u64,
    pub(super) failed: u64,
}

/// A call that may have run although it failed.
#[derive(Clone, Debug)]
pub(super) struct Unknown {
    pub(super) timestamp: String,
    pub(super) tool: String,
    pub(super) call_id: String,
    pub(super) error: String,
}

impl Default for Tool {
    fn default() -> Self {
        Self {
            calls: 0,
            success: 0,
            failed: 0,
            cancelled: 0,
            interim: 0,
            repeats: 0,
            repeated_calls: 0,
            waited_ms: 0,
            latency: Quantiles::default(),
            classes: BTreeMap::new(),
            hours: [Hour::default(); 24],
            invalid: Frequent::new(SHAPES),
        }
    }
}

impl Counts {
    /// Counts a line, without its end.
    pub(super) fn add(&mut self, text: &[u8]) {
        self.lines += 1;
        let Ok(line) = serde_json::from_slice::<Line<'_>>(text) else {
            self.broken += 1;
            return;
        };
        if line.event == "lines_lost" {
            self.lost += line.lost;
            return;
        }
        let (true, Some(subject), Some(hour)) = (line.event == "call", line.subject(), line.hour())
        else {
            self.other += 1;
            return;
        };
        self.span(&line.timestamp);
        let shape = shape(&line, text);
        let shape = shape.as_deref();
        self.all.add(&line, hour, shape);
        let tool = if self.tools.len() < TOOLS || self.tools.contains_key(subject) {
            subject
        } else {
            "…"
        };
        match self.tools.get_mut(tool) {
            Some(tool) => tool.add(&line, hour, shape),
            None => self
                .tools
                .entry(cut(tool))
                .or_default()
                .add(&line, hour, shape),
        }
        if line.delivery.as_deref() == Some("unknown") && line.outcome.as_deref() == Some("failed")
        {
            self.note_unknown(&line, subject);
        }
    }

    fn span(&mut self, timestamp: &str) {
        if self.first.as_deref().is_none_or(|first| timestamp < first) {
            self.first = Some(cut(timestamp));
        }
        if self.last.as_deref().is_none_or(|last| timestamp > last) {
            self.last = Some(cut(timestamp));
        }
    }

    fn note_unknown(&mut self, line: &Line<'_>, tool: &str) {
        self.unknown += 1;
        if self.last_unknown.len() == UNKNOWN {
            self.last_unknown.pop_front();
        }
        self.last_unknown.push_back(Unknown {
            timestamp: cut(&line.timestamp),
            tool: cut(tool),
            call_id: cut(line.call_id.as_deref().unwrap_or_default()),
            error: cut(line.error.as_deref().unwrap_or_default()),
        });
    }
}

impl Tool {
    fn add(&mut self, line: &Line<'_>, hour: usize, invalid: Option<&str>) {
        self.calls += 1;
        self.hours[hour].calls += 1;
        match line.outcome.as_deref() {
            Some("success") => self.success += 1,
            Some("cancelled") => self.cancelled += 1,
            Some("interim") => self.interim += 1,
            _ => {
                self.failed += 1;
                self.hours[hour].failed += 1;
                self.count_class(line.class.as_deref().unwrap_or("tool"));
            }
        }
        let repeats = line.attempts.saturating_sub(1);
        self.repeats += repeats;
        self.repeated_calls += u64::from(repeats > 0);
        self.waited_ms = self.waited_ms.saturating_add(line.waited_ms);
        self.latency.add(line.latency_ms);
        if let Some(shape) = invalid {
            self.invalid.add(shape);
        }
    }

    fn count_class(&mut self, class: &str) {
        let is_full = self.classes.len() >= CLASSES;
        match self.classes.get_mut(class) {
            Some(count) => *count += 1,
            None if !is_full => {
                self.classes.insert(cut(class), 1);
            }
            None => *self.classes.entry("…".to_owned()).or_default() += 1,
        }
    }
}

/// The keys and types of arguments that failed validation.
fn shape(line: &Line<'_>, text: &[u8]) -> Option<String> {
    if line.class.as_deref() != Some("invalid_input") {
        return None;
    }
    let read = serde_json::from_slice::<Arguments>(text).ok();
    let shape = match read.and_then(|read| read.arguments) {
        Some(Value::Object(members)) => {
            let members = members
                .iter()
                .map(|(key, value)| format!("{key}: {}", kind(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Some(_) => "no object".to_owned(),
        None => "no arguments".to_owned(),
    };
    Some(cut(&shape))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(text) if text.is_empty() => "empty string",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A text, cut and on one line.
fn cut(text: &str) -> String {
    let shown = text.chars().take(TEXT);
    let shown = shown.map(|c| if c.is_control() { ' ' } else { c });
    shown.collect()
}
