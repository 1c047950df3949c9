//! The line of a call in the log.

use super::{Answer, Call, at_once, json, pieces};
use mcp_resilience::{
    Class, Failure,
    call::{Hints, Method},
    call_log::{ArgumentLogging, CallLogLayer, Record, Sink},
};
use serde_json::{Map, Value};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tower::{BoxError, Layer, Service, service_fn};

const LINE_LIMIT: usize = 16 * 1024;
const NAME_LIMIT: usize = 256;
const FIELD_LIMIT: usize = 4 * 1024;

/// Deeper values no usual parser reads.
const DEPTH_LIMIT: usize = 128;

/// A call, and how it ends.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) name: String,
    pub(crate) method: Method,
    pub(crate) arguments: Value,
    pub(crate) meta: Map<String, Value>,
    pub(crate) request_id: Option<Value>,
    pub(crate) session_id: Option<String>,
    pub(crate) logging: ArgumentLogging,
    pub(crate) end: End,
}

#[derive(Clone, Debug)]
pub(crate) enum End {
    Answer {
        text: String,
        is_error: bool,
    },
    Fails {
        class: Class,
        message: String,
        code: String,
        wait: Option<Duration>,
    },
    Breaks(String),
    IsDropped,
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Sink for Lines {
    fn write(&self, record: &Record<'_>) {
        self.0.lock().expect("no panic").push(record.to_json());
    }
}

impl Story {
    /// From bytes: what it is of each kind by the first, then the texts.
    pub(crate) fn of_bytes(data: &[u8]) -> Self {
        let (kind, data) = data.split_first().unwrap_or((&0, &[]));
        let mut pieces = pieces(data);
        let mut next = || pieces.next().unwrap_or_default();
        let (name, arguments, id, session) = (next(), json(&next()), next(), next());
        let meta = match json(&next()) {
            Value::Object(object) => object,
            other => Map::from_iter([("traceparent".to_owned(), other)]),
        };
        let (message, code) = (next(), next());
        let class = usize::from(kind >> 4);
        Self {
            name,
            method: [Method::CallTool, Method::ReadResource, Method::GetPrompt]
                [usize::from(kind % 3)],
            arguments,
            meta,
            request_id: (!id.is_empty()).then(|| json(&id)),
            session_id: (!session.is_empty()).then_some(session),
            logging: [
                ArgumentLogging::Masked,
                ArgumentLogging::Raw,
                ArgumentLogging::Shape,
                ArgumentLogging::Off,
            ][usize::from(kind / 3 % 4)],
            end: match kind % 5 {
                0 => End::Answer {
                    text: message,
                    is_error: kind % 2 == 0,
                },
                1 => End::IsDropped,
                2 => End::Breaks(message),
                _ => End::Fails {
                    class: Class::all().nth(class).unwrap_or(Class::Tool),
                    wait: (kind % 7 == 0).then(|| Duration::from_secs(code.len() as u64)),
                    message,
                    code,
                },
            },
        }
    }

    /// The line that it leaves.
    pub(crate) fn line(&self) -> String {
        let lines = Lines::default();
        self.happen(lines.clone());
        let mut lines = lines.0.lock().expect("no panic").clone();
        assert_eq!(lines.len(), 1, "exactly one line: {lines:?}");
        lines.swap_remove(0)
    }

    /// Makes the call, in front of this sink.
    pub(crate) fn happen(&self, sink: impl Sink + 'static) {
        let layer = CallLogLayer::new(sink).arguments(self.logging);
        let mut outcome = Some(self.outcome());
        let tool = service_fn(move |_: Call| {
            let outcome = outcome.take().expect("one call");
            async { outcome }
        });
        let answer = layer.layer(tool).call(Call {
            name: self.name.clone(),
            method: self.method,
            arguments: self.arguments.clone(),
            meta: self.meta.clone(),
            hints: Hints::new(),
            request_id: self.request_id.clone(),
            session_id: self.session_id.clone(),
        });
        match self.end {
            End::IsDropped => drop(answer),
            _ => drop(at_once(answer)),
        }
    }

    fn outcome(&self) -> Result<Answer, BoxError> {
        match &self.end {
            End::IsDropped => Ok(Answer::ok("")),
            End::Answer { text, is_error } => Ok(Answer {
                is_error: *is_error,
                ..Answer::ok(text)
            }),
            End::Breaks(text) => Err(text.as_str().into()),
            End::Fails {
                class,
                message,
                code,
                wait,
            } => {
                let failure = Failure::new(*class, message.clone()).with_code(code.clone());
                Err(failure
                    .with_retry_after(*wait)
                    .because(message.as_str())
                    .into())
            }
        }
    }

    pub(crate) fn check(&self) {
        let line = self.line();
        assert!(line.len() <= LINE_LIMIT, "{} bytes", line.len());
        let has_controls = line.chars().any(|c| c.is_control() || is_line_end(c));
        assert!(!has_controls, "one line: {line:?}");
        let value: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("no JSON ({error}): {line}"));
        let object = value.as_object().expect("an object");
        assert!(depth(&value) <= DEPTH_LIMIT);
        // Unknown fields are left out. Arguments are unchanged.
        let mut known = object.iter().filter(|(key, _)| *key != "arguments");
        assert!(known.all(|(_, value)| !value.is_null()), "{line}");
        for (key, value) in object {
            // Of what JSON's escapes blow up, the limit holds for the line; read, it is shorter.
            let limit = match key.as_str() {
                "arguments" | "error" => FIELD_LIMIT + 4 * DEPTH_LIMIT,
                _ => NAME_LIMIT + 2,
            };
            let length = match value {
                Value::String(text) => text.len(),
                other => other.to_string().len(),
            };
            let is_escaped = key == "arguments";
            assert!(is_escaped || length <= limit, "{key}: {length} bytes");
        }
        for key in [
            "timestamp",
            "level",
            "event",
            "outcome",
            "latency_ms",
            "call_id",
        ] {
            assert!(object.contains_key(key), "no {key}: {line}");
        }
        assert!(object.contains_key(self.method.subject()), "{line}");
        let outcome = match self.end {
            End::IsDropped => "cancelled",
            End::Answer {
                is_error: false, ..
            } => "success",
            _ => "failed",
        };
        assert_eq!(object["outcome"], outcome);
    }
}

/// Ends of lines to some readers.
fn is_line_end(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{85}')
}

fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Object(object) => object.values().map(depth).max(),
        Value::Array(items) => items.iter().map(depth).max(),
        _ => return 0,
    };
    1 + inner.unwrap_or(0)
}
