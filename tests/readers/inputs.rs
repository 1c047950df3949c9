//! Inputs that resemble the texts of servers.

use crate::checks::{End, Parts, Story};
use mcp_resilience::{Class, call::Method, call_log::ArgumentLogging};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
};
use serde_json::{Map, Number, Value};
use std::time::Duration;

/// The names that mean something, and some that only look so.
const KEYS: &[&str] = &[
    "code",
    "error",
    "data",
    "details",
    "message",
    "status",
    "type",
    "retryable",
    "isRetryable",
    "is_retryable",
    "retryAfter",
    "retry_after",
    "Retry-After",
    "retry_after_ms",
    "retryDelay",
    "resetAt",
    "retry_at",
    "retry",
    "after",
    "adcp_error",
    "limits",
    "current",
    "password",
    "service",
    "statusCode",
    "error_code",
    "…",
    "",
    "\u{0}",
    "a\nb",
];

/// And the words.
const WORDS: &[&str] = &[
    "rate_limited",
    "RATE_LIMITED",
    "at_capacity",
    "service_unavailable",
    "upstream_error",
    "bad_request",
    "auth_failed",
    "not_found",
    "timeout",
    "TooManyRequests",
    "true",
    "false",
    "Input validation error: x",
    "MCP error -32602: y",
    "Error executing tool t: z",
    "Session not found",
    "Bearer abc",
    "",
    " ",
    "30",
    "1m30s",
    "-5",
    "1e300",
    "NaN",
    "Thu, 01 Jan 2099 00:00:00 GMT",
    "2099-01-01T00:00:00Z",
];

pub(crate) fn numbers() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<u64>().prop_map(Number::from),
        any::<i64>().prop_map(Number::from),
        (0_u64..100_000).prop_map(Number::from),
        any::<f64>().prop_filter_map("finite", Number::from_f64),
        (-1e6_f64..1e6).prop_filter_map("finite", Number::from_f64),
        (0.0_f64..1e-3).prop_filter_map("finite", Number::from_f64),
    ]
}

/// Texts like those that say a wait, and any others.
pub(crate) fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        select(WORDS).prop_map(str::to_owned),
        "[ +-]?[0-9]{0,22}(\\.[0-9]{0,22})?([eE][+-]?[0-9]{1,4})? ?",
        "([0-9]{1,6}(\\.[0-9]{0,4})? ?(ns|us|µs|ms|s|sec|m|min|h|d|x) ?){1,4}",
        "[0-9]{2,4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})",
        "(Mon|Tue|Sun), [0-9]{2} (Jan|Feb|Foo) [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT",
        ".{0,40}",
        "\\PC{0,80}",
    ]
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![8 => select(KEYS).prop_map(str::to_owned), 1 => ".{0,12}"]
}

/// A tree of such names, words and numbers.
pub(crate) fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        numbers().prop_map(Value::Number),
        select(vec![400, 401, 404, 408, 429, 500, 503]).prop_map(Value::from),
        texts().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(Value::Array),
            4 => objects(inner).prop_map(Value::Object),
        ]
    })
}

fn objects(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    btree_map(keys(), inner, 0..6).prop_map(Map::from_iter)
}

pub(crate) fn parts() -> impl Strategy<Value = Parts> {
    let text = prop_oneof![texts(), values().prop_map(|value| value.to_string())];
    let meta = option::of(objects(values()));
    let structured = option::of(values());
    (structured, vec(text, 0..3), meta).prop_map(|(structured, texts, meta)| Parts {
        structured,
        texts,
        meta,
    })
}

/// A short text, or a long one of characters that take more room than they seem to.
fn long_texts() -> impl Strategy<Value = String> {
    let pieces = select(vec![
        "a", "\"", "\\", "\n", "\u{1b}", "é", "💥", "\u{2028}", "{", "\u{202e}",
    ]);
    prop_oneof![
        3 => texts(),
        1 => (pieces, 0_usize..20_000).prop_map(|(piece, times)| piece.repeat(times)),
    ]
}

fn deep() -> impl Strategy<Value = Value> {
    (0_usize..300, any::<bool>()).prop_map(|(depth, is_array)| {
        (0..depth).fold(Value::from(1), |inner, _| {
            if is_array {
                Value::Array(vec![inner])
            } else {
                Value::Object(Map::from_iter([("a".to_owned(), inner)]))
            }
        })
    })
}

fn ends() -> impl Strategy<Value = End> {
    let wait = option::of(prop_oneof![
        Just(Duration::MAX),
        (0_u64..1 << 40).prop_map(Duration::from_nanos),
    ]);
    let class = select(Class::all().collect::<Vec<_>>());
    prop_oneof![
        (long_texts(), any::<bool>()).prop_map(|(text, is_error)| End::Answer { text, is_error }),
        (class, long_texts(), long_texts(), wait).prop_map(|(class, message, code, wait)| {
            End::Fails {
                class,
                message,
                code,
                wait,
            }
        }),
        long_texts().prop_map(End::Breaks),
        Just(End::IsDropped),
    ]
}

pub(crate) fn stories() -> impl Strategy<Value = Story> {
    let arguments = prop_oneof![
        4 => values(),
        1 => deep(),
        1 => long_texts().prop_map(Value::String),
        1 => vec(long_texts().prop_map(Value::String), 0..4).prop_map(Value::Array),
        1 => btree_map(long_texts(), values(), 0..4)
            .prop_map(|members| Value::Object(Map::from_iter(members))),
    ];
    let methods = select(vec![
        Method::CallTool,
        Method::ReadResource,
        Method::GetPrompt,
    ]);
    let logging = select(vec![
        ArgumentLogging::Masked,
        ArgumentLogging::Raw,
        ArgumentLogging::Shape,
        ArgumentLogging::Off,
    ]);
    let ids = (option::of(values()), option::of(long_texts()));
    let call = (long_texts(), methods, arguments, objects(values()), ids);
    (call, logging, ends()).prop_map(|(call, logging, end)| {
        let (name, method, arguments, meta, (request_id, session_id)) = call;
        Story {
            name,
            method,
            arguments,
            meta,
            request_id,
            session_id,
            logging,
            end,
        }
    })
}
