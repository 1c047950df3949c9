//! The content of one file.

use mcp_resilience::{
    Class, Delivery, Failure,
    failure::{Code, Stopped},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::time::{Duration, SystemTime};

/// The placeholder of a date in a file: `@now+90s`.
const DATE: &str = "@now+";

/// How late a date in a file may be read.
const LATE: u64 = 5_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// The server or SDK, its version, and a reference.
    pub(crate) seen: String,
    pub(crate) input: Input,
    pub(crate) expect: Expected,
    /// The expectation for rmcp's types, if they read it differently.
    #[serde(default)]
    pub(crate) by_rmcp: Option<Expected>,
    /// The expectation for the HTTP client, if it reads it differently than rmcp's types.
    #[serde(default)]
    pub(crate) by_http: Option<Expected>,
    /// Whether a wait in it is a date, `@now+90s` in the file.
    #[serde(skip)]
    has_date: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Input {
    /// The result of `tools/call`.
    Result(Value),
    /// A JSON-RPC error.
    Error(RpcInput),
    /// The answer to the POST of `tools/call`.
    Http(HttpAnswer),
    /// An error of Rust: see `typed.rs`.
    Typed(String),
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RpcInput {
    pub(crate) code: i32,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    not(feature = "rmcp-client-http"),
    expect(dead_code, reason = "only the client over HTTP reads it")
)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    #[serde(default)]
    pub(crate) headers: Map<String, Value>,
    /// A text as it is, or JSON.
    pub(crate) body: Value,
    /// Whether the server gives sessions.
    #[serde(default)]
    pub(crate) session: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "outcome")]
pub(crate) enum Expected {
    /// The answer passes unchanged, without a flag.
    Success {
        why: String,
        /// Whether the detector for texts, which is off by default, flags it.
        #[serde(default)]
        flagged_by_detector: bool,
    },
    /// The answer passes unchanged, because the call goes on elsewhere.
    Interim { why: String },
    /// The answer has no flag, is flagged, and the log says so.
    Flagged {
        class: String,
        code: Value,
        why: String,
    },
    Failure {
        class: String,
        code: Value,
        delivery: String,
        /// For which tools the call is repeated.
        repeated: Repeated,
        why: String,
        wait_ms: Value,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(crate) enum Repeated {
    #[serde(rename = "any tool")]
    AnyTool,
    #[serde(rename = "tools that may run twice")]
    MayRunTwice,
    #[serde(rename = "never")]
    Never,
}

impl Case {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let has_date = text.contains(DATE);
        let mut json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        set_dates(&mut json, false);
        let mut case: Self = serde_json::from_value(json).map_err(|error| error.to_string())?;
        case.has_date = has_date;
        for expected in std::iter::once(&case.expect)
            .chain(&case.by_rmcp)
            .chain(&case.by_http)
        {
            expected.check()?;
        }
        if case.seen.trim().is_empty() {
            return Err("it does not say where it was seen".to_owned());
        }
        Ok(case)
    }

    /// Compares a failure, and whether a retry repeats it for both kinds of tools.
    pub(crate) fn compare(
        &self,
        expected: &Expected,
        failure: &Failure,
        repeated: Repeated,
    ) -> Result<(), String> {
        let Expected::Failure {
            class,
            code,
            delivery,
            repeated: expected,
            wait_ms,
            ..
        } = expected
        else {
            return Err(format!("a failure: {failure:?}"));
        };
        let seen = [
            ("class", json!(failure.class().as_str()), json!(class)),
            ("code", code_of(failure), code.clone()),
            (
                "delivery",
                json!(failure.delivery().as_str()),
                json!(delivery),
            ),
            (
                "repeated",
                json!(format!("{repeated:?}")),
                json!(format!("{expected:?}")),
            ),
        ];
        for (what, seen, expected) in seen {
            if seen != expected {
                return Err(format!("{what} is {seen}, not {expected}: {failure:?}"));
            }
        }
        self.compare_wait(failure.retry_after(), wait_ms.as_u64())
    }

    fn compare_wait(&self, wait: Option<Duration>, expected: Option<u64>) -> Result<(), String> {
        let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap();
        let is_right = match (wait.map(millis), expected) {
            (Some(wait), Some(expected)) if self.has_date => {
                wait <= expected && wait + LATE >= expected
            }
            (wait, expected) => wait == expected,
        };
        is_right
            .then_some(())
            .ok_or_else(|| format!("the wait is {wait:?}, not {expected:?} ms"))
    }
}

impl Expected {
    fn check(&self) -> Result<(), String> {
        let (Self::Success { why, .. }
        | Self::Interim { why }
        | Self::Flagged { why, .. }
        | Self::Failure { why, .. }) = self;
        if why.trim().is_empty() {
            return Err("it does not say why".to_owned());
        }
        if let Self::Flagged { class, .. } | Self::Failure { class, .. } = self
            && !Class::all().any(|known| known.as_str() == class)
        {
            return Err(format!("`{class}` is no class"));
        }
        if let Self::Failure {
            delivery, wait_ms, ..
        } = self
        {
            use Delivery::{Executed, NotSent, Refused, Unknown};
            let mut known = [NotSent, Refused, Unknown, Executed].iter();
            if !known.any(|known| known.as_str() == delivery) {
                return Err(format!("`{delivery}` is no delivery"));
            }
            if !wait_ms.is_null() && !wait_ms.is_u64() {
                return Err(format!("`{wait_ms}` is no wait"));
            }
        }
        Ok(())
    }
}

/// Which tools a retry would repeat, from the reasons for which it gave up: for a tool without
/// hints, and for one that may run twice.
pub(crate) fn repeated(any: &Failure, twice: &Failure) -> Repeated {
    match (any.stopped(), twice.stopped()) {
        (Some(Stopped::Attempts), Some(Stopped::Attempts)) => Repeated::AnyTool,
        (_, Some(Stopped::Attempts)) => Repeated::MayRunTwice,
        _ => Repeated::Never,
    }
}

pub(crate) fn code_of(failure: &Failure) -> Value {
    match failure.code() {
        Some(Code::Text(text)) => json!(text),
        Some(Code::Number(number)) => json!(number),
        _ => Value::Null,
    }
}

/// Makes dates of `@now+90s`: of HTTP in headers, else of RFC 3339.
fn set_dates(json: &mut Value, is_header: bool) {
    match json {
        Value::String(text) => {
            // Also within a text that is JSON itself.
            while let Some(start) = text.find(DATE) {
                let rest = &text[start + DATE.len()..];
                let end = rest.find('s').expect("seconds, with their unit");
                let date = from_now(rest[..end].parse().unwrap(), is_header);
                text.replace_range(start..=start + DATE.len() + end, &date);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| set_dates(item, is_header)),
        Value::Object(object) => {
            for (key, value) in object {
                set_dates(value, is_header || key == "headers");
            }
        }
        _ => {}
    }
}

fn from_now(seconds: u64, is_header: bool) -> String {
    #[expect(clippy::disallowed_methods, reason = "a date is the wall clock's")]
    let at = SystemTime::now() + Duration::from_secs(seconds);
    if is_header {
        httpdate::fmt_http_date(at)
    } else {
        chrono::DateTime::<chrono::Utc>::from(at).to_rfc3339()
    }
}
