//! The same for arbitrary envelopes and nestings: a call with an effect runs again only if a source
//! that can know permits it.

use super::{Step, runs};
use crate::support::Answer;
use mcp_resilience::{
    Class, Failure, classify::ClassifyLayer, failure::RpcError, is_error::META_KEY,
};
use proptest::{collection::vec, prelude::*, sample::select, test_runner::Config};
use serde_json::{Map, Value, json};
use std::{fmt, io, sync::Arc};
use tower::{BoxError, load_shed::error::Overloaded};

fn config() -> Config {
    Config {
        cases: Config::default().cases.max(512),
        failure_persistence: None,
        ..Config::default()
    }
}

const KEYS: &[&str] = &[
    "code",
    "error",
    "error_code",
    "errorType",
    "type",
    "status",
    "message",
    "retryable",
    "isRetryable",
    "retryAfter",
    "retryAfterMs",
    "data",
    "details",
    "errors",
    "upstream",
    "mail",
    "adcp_error",
    "current",
    "limits",
    "sent",
];
const WORDS: &[&str] = &[
    "rate_limited",
    "RATE-LIMITED",
    "at_capacity",
    "service_unavailable",
    "upstream_error",
    "too_many_requests",
    "overloaded",
    "timeout",
    "error",
    "E17",
    "true",
    "x",
];

/// JSON of the words that matter.
fn envelopes() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => select(WORDS).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => select(&[1, 404, 429, 500, 502, 503][..]).prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            4 => vec((select(KEYS), inner.clone()), 1..5).prop_map(|members| {
                members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
            1 => vec(inner, 0..3).prop_map(Value::from),
        ]
    })
}

/// Whether anything in it might be the server's word that this call was refused, or may be repeated.
/// Where that has to stand is left open: this is only what there must be at least.
fn claims_something(value: &Value) -> bool {
    let letters = |text: &str| text.replace(['_', '-', ' '], "").to_lowercase();
    match value {
        Value::Object(object) => {
            let is_claim = |(key, value): (&String, &Value)| {
                let word = value.as_str().map(letters).unwrap_or_default();
                let is_refusal =
                    matches!(&*word, "ratelimited" | "atcapacity" | "serviceunavailable");
                let is_yes = letters(key).ends_with("retryable") && *value == json!(true);
                is_refusal || is_yes
            };
            let is_documented = object.get("error").is_some_and(Value::is_string)
                && object.get("status").and_then(Value::as_u64) >= Some(500)
                && object
                    .values()
                    .any(|value| *value == json!("upstream_error"));
            object.iter().any(is_claim) || is_documented || object.values().any(claims_something)
        }
        Value::Array(items) => items.iter().any(claims_something),
        _ => false,
    }
}

/// An error, and how it is wrapped.
#[derive(Clone, Debug)]
enum Thrown {
    Overloaded,
    Io(io::ErrorKind),
    Text,
    Made(Class),
    /// With a claim of its author.
    Told(Class, bool),
    Rpc(i32, Value),
    Wrapped(Box<Thrown>),
    InIo(Box<Thrown>),
    Cause(Class, Box<Thrown>),
    Crash(Box<Thrown>),
    /// Classified by the tool's own `Classify`.
    Named(Box<Thrown>),
}

#[derive(Clone)]
struct Wrapped(Arc<BoxError>);

impl fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wrapped")
    }
}

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("while booking")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&**self.0)
    }
}

impl Thrown {
    fn throw(&self) -> BoxError {
        match self {
            Self::Overloaded => Overloaded::new().into(),
            Self::Io(kind) => io::Error::from(*kind).into(),
            Self::Text => "rate_limited, retryable: true".into(),
            Self::Made(class) => Failure::new(*class, "x").into(),
            Self::Told(class, true) => Failure::new(*class, "x").before_running().into(),
            Self::Told(class, false) => Failure::new(*class, "x").with_retryable(true).into(),
            Self::Rpc(code, data) => RpcError::new(*code, "x", Some(data.clone())).into(),
            Self::Wrapped(inner) => Wrapped(Arc::new(inner.throw())).into(),
            Self::InIo(inner) => io::Error::other(inner.throw()).into(),
            Self::Cause(class, inner) => Failure::new(*class, "x").because(inner.throw()).into(),
            Self::Crash(inner) => Failure::crash(inner.throw()).into(),
            Self::Named(inner) => ClassifyLayer::new().classify(inner.throw()).into(),
        }
    }

    /// Whether a source that can know may have made a claim about this call.
    fn is_told(&self) -> bool {
        match self {
            Self::Overloaded | Self::Told(..) => true,
            Self::Rpc(code, data) => *code == -32023 || claims_something(data),
            _ => false,
        }
    }
}

fn thrown() -> impl Strategy<Value = Thrown> {
    let classes: Vec<Class> = Class::all()
        .filter(|class| *class != Class::Fatal)
        .collect();
    let class = select(classes);
    let kinds = [
        io::ErrorKind::ConnectionRefused,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::TimedOut,
        io::ErrorKind::Other,
    ];
    let codes = select(
        &[
            -32023, -32029, -32000, -32001, -32600, -32601, -32602, -32603, 7,
        ][..],
    );
    let leaf = prop_oneof![
        Just(Thrown::Overloaded),
        select(kinds.to_vec()).prop_map(Thrown::Io),
        Just(Thrown::Text),
        class.clone().prop_map(Thrown::Made),
        (class.clone(), any::<bool>()).prop_map(|(class, refused)| Thrown::Told(class, refused)),
        (codes, envelopes()).prop_map(|(code, data)| Thrown::Rpc(code, data)),
    ];
    leaf.prop_recursive(4, 8, 1, move |inner| {
        let inner = inner.prop_map(Box::new);
        prop_oneof![
            inner.clone().prop_map(Thrown::Wrapped),
            inner.clone().prop_map(Thrown::InIo),
            (class.clone(), inner.clone()).prop_map(|(class, inner)| Thrown::Cause(class, inner)),
            inner.clone().prop_map(Thrown::Crash),
            inner.prop_map(Thrown::Named),
        ]
    })
}

fn count(step: impl Fn() -> Step) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(runs(step))
}

fn in_meta(key: &str, envelope: &Value) -> Answer {
    Answer {
        meta: Some(Map::from_iter([(key.to_owned(), envelope.clone())])),
        ..Answer::flagged("it failed")
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_structured_envelope_repeats_a_call_unless_it_says_so(envelope in envelopes()) {
        let answers = [Answer::envelope(envelope.clone()), in_meta(META_KEY, &envelope)];
        for answer in answers {
            let runs = count(|| Ok(answer.clone()));
            prop_assert!(runs == 1 || claims_something(&envelope), "{runs} runs: {answer:?}");
        }
    }

    #[test]
    fn no_structured_envelope_beside_what_was_done_repeats_a_call(envelope in envelopes()) {
        if let Value::Object(mut object) = envelope {
            object.insert("sent".to_owned(), json!(2));
            let answer = Answer::envelope(Value::Object(object));
            prop_assert_eq!(count(|| Ok(answer.clone())), 1, "{:?}", answer);
        }
    }

    #[test]
    fn nothing_else_in_a_result_ever_repeats_a_call(envelope in envelopes(), more in envelopes()) {
        let mut beside = in_meta("vendor/outcome", &more);
        beside.texts = vec![envelope.to_string(), more.to_string()];
        let quiet = Answer { structured: Some(json!({"sent": 2})), ..beside.clone() };
        for answer in [Answer::flagged(&envelope.to_string()), beside, quiet] {
            prop_assert_eq!(count(|| Ok(answer.clone())), 1, "{:?}", answer);
        }
    }

    #[test]
    fn no_error_repeats_a_call_unless_a_source_that_knows_permits_it(thrown in thrown()) {
        let runs = count(|| Err(thrown.throw()));
        prop_assert!(runs == 1 || thrown.is_told(), "{runs} runs: {thrown:?}");
    }
}
