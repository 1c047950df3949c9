//! `classify`: the class of a failure, and the details that are kept.

mod cautions;
mod named;
mod panics;
mod vocabulary;

use crate::support::{Answer, Call, Script, Strict};
use mcp_resilience::{
    classify::ClassifyLayer,
    failure::{BoxError, Class, Code, Delivery, Failure, RpcError},
    is_error::IsErrorLayer,
};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    error::Error,
    future::{Ready, ready},
    io,
    task::{Context, Poll},
    time::Duration,
};
use tower::{Layer, Service, ServiceExt, service_fn};

type Thrown = Result<Answer, BoxError>;

async fn classified_by(layer: ClassifyLayer, answer: Thrown) -> Result<Answer, Failure> {
    let tools = layer.layer(Strict::new(Script::new([answer])));
    tools.oneshot(Call::tool("search")).await
}

async fn failure_of(answer: Answer) -> Failure {
    let answer = classified_by(ClassifyLayer::new(), Ok(answer)).await;
    answer.unwrap_err()
}

async fn failure_of_error(error: impl Into<BoxError>) -> Failure {
    let answer = classified_by(ClassifyLayer::new(), Err(error.into())).await;
    answer.unwrap_err()
}

/// The details that decide about a repeat.
fn verdict(failure: &Failure) -> (Class, Delivery, Option<Duration>, Option<bool>) {
    let (class, delivery) = (failure.class(), failure.delivery());
    (class, delivery, failure.retry_after(), failure.retryable())
}

/// A foreign error around another.
#[derive(Debug, thiserror::Error)]
#[error("while asking the catalog")]
struct Wrapped(#[source] BoxError);

fn wrapped(error: impl Into<BoxError>) -> BoxError {
    Wrapped(error.into()).into()
}

fn seconds(wait: u64) -> Option<Duration> {
    Duration::from_secs(wait).into()
}

/// A flagged result with something in every field.
fn full(structured: Option<Value>) -> Answer {
    Answer {
        texts: vec!["first".to_owned(), "second".to_owned()],
        structured,
        meta: json!({"trace": "7"}).as_object().cloned(),
        is_error: true,
        is_interim: false,
    }
}

#[tokio::test]
async fn an_answer_that_is_not_a_failure_passes_unchanged() {
    let envelope = json!({"code": "rate_limited", "error": "slow down", "retryAfter": 9});
    for (is_error, is_interim) in [(false, false), (false, true), (true, true)] {
        let mut answer = full(Some(envelope.clone()));
        (answer.is_error, answer.is_interim) = (is_error, is_interim);
        // No rule is asked of a call that goes on elsewhere.
        let rule = move |_: &Answer| is_interim.then(|| Failure::tool("by the rule"));
        let layer = ClassifyLayer::new().result_rule(rule);
        let passed = classified_by(layer, Ok(answer.clone())).await;
        assert_eq!(passed.unwrap(), answer);
    }
    for answer in [Answer::ok("12.50"), Answer::default()] {
        let passed = classified_by(ClassifyLayer::new(), Ok(answer.clone())).await;
        assert_eq!(passed.unwrap(), answer);
    }
}

/// The documented codes, with the status that comes with each.
#[rustfmt::skip]
const CODES: [(&str, Option<u16>, Class); 14] = [
    ("ssrf_blocked",             None,      Class::Blocked),
    ("upstream_non_json",        Some(200), Class::InvalidOutput),
    ("output_validation_failed", None,      Class::InvalidOutput),
    ("bad_request",              Some(400), Class::InvalidInput),
    ("auth_failed",              Some(401), Class::Unauthorized),
    ("forbidden",                Some(403), Class::Forbidden),
    ("not_found",                Some(404), Class::NotFound),
    ("rate_limited",             Some(429), Class::RateLimited),
    ("at_capacity",              Some(503), Class::AtCapacity),
    ("service_disabled",         Some(503), Class::Disabled),
    ("service_unavailable",      Some(503), Class::Unavailable),
    ("upstream_error",           Some(502), Class::Upstream),
    ("upstream_client_error",    Some(422), Class::InvalidInput),
    ("upstream_unknown",         Some(600), Class::Crash),
];

#[tokio::test]
async fn every_documented_code_is_read_in_its_minimal_and_its_full_form() {
    for (code, status, class) in CODES {
        let minimal = json!({"service": "single", "code": code, "error": "it failed"});
        let mut all = json!({
            "service": "proxy", "code": code, "error": "it failed", "retryAfter": 7,
            "current": {"concurrency": 11, "rpm": 60},
            "limits": {"maxConcurrency": 10, "maxRpm": 60},
        });
        if let Some(status) = status {
            all["status"] = status.into();
        }
        let http_status = status.filter(|status| *status < 600);
        for (form, wait, status) in [(minimal, None, None), (all, seconds(7), http_status)] {
            // The text repeats it, which is how most hosts get to see it at all.
            let structured = Answer::envelope(form.clone());
            let in_text = Answer::flagged(&form.to_string());
            let in_second_text = Answer {
                texts: vec!["Sorry.".to_owned(), format!("\n {form} ")],
                is_error: true,
                ..Answer::default()
            };
            let answers = [structured, full(Some(form)), in_text, in_second_text];
            for answer in answers {
                let is_structured = answer.structured.is_some();
                let is_refusal = class.heals() && class != Class::Upstream && is_structured;
                let delivery = if is_refusal {
                    Delivery::Refused
                } else {
                    class.delivery()
                };
                // With an `error` and a status of 500 or more, and not in a text.
                let is_repeatable = code == "upstream_error" && status.is_some() && is_structured;
                let expected = (class, delivery, wait, is_repeatable.then_some(true));
                let mut failure = failure_of(answer.clone()).await;
                assert_eq!(verdict(&failure), expected, "{answer:?}");
                assert_eq!(failure.code(), Some(&Code::from(code)), "{answer:?}");
                assert_eq!(failure.message(), Some("it failed"), "{answer:?}");
                assert_eq!(failure.status(), status, "{answer:?}");
                assert_eq!(failure.take_result(), Some(answer), "{code}");
            }
        }
    }
}

#[tokio::test]
async fn a_status_decides_where_no_known_code_does() {
    #[rustfmt::skip]
    let cases = [
        (json!({"code": "E17", "error": "x", "status": 400}), Class::InvalidInput),
        (json!({"code": "E17", "error": "x", "status": 401}), Class::Unauthorized),
        (json!({"code": "E17", "error": "x", "status": 403}), Class::Forbidden),
        (json!({"code": "E17", "error": "x", "status": 404}), Class::NotFound),
        (json!({"code": "E17", "error": "x", "status": 422}), Class::InvalidInput),
        (json!({"code": "E17", "error": "x", "status": 429}), Class::RateLimited),
        (json!({"code": "E17", "error": "x", "status": "429"}), Class::RateLimited),
        (json!({"code": "E17", "error": "x", "statusCode": 500}), Class::Upstream),
        (json!({"code": "E17", "error": {"status": 502}}), Class::Upstream),
        (json!({"code": "E17", "error": "x", "status": 503}), Class::Unavailable),
        (json!({"code": "E17", "error": "x", "status": 503, "current": {"concurrency": 3}, "limits": {"maxConcurrency": 2}}), Class::AtCapacity),
        (json!({"code": "E17", "error": "x", "status": 429, "current": {"rpm": 61}, "limits": {"maxRpm": 60}}), Class::RateLimited),
        (json!({"code": "E17", "error": "x", "status": 503, "limits": {"maxConcurrency": 2}}), Class::Unavailable),
        (json!({"code": "E17", "error": "x"}), Class::Tool),
        (json!({"code": "E17", "error": "x", "status": 0}), Class::Tool),
        (json!({"code": "E17", "error": "x", "status": 200}), Class::Tool),
        (json!({"code": "E17", "error": "x", "status": 1429}), Class::Tool),
        (json!({"code": "E17", "error": "x", "status": "error"}), Class::Tool),
    ];
    for (envelope, class) in cases {
        let failure = failure_of(Answer::envelope(envelope.clone())).await;
        // It may be the status of an API behind the tool.
        let expected = (class, class.delivery(), None, None);
        assert_eq!(verdict(&failure), expected, "{envelope}");
        assert_eq!(failure.code(), Some(&Code::from("E17")), "{envelope}");
    }
    let known = json!({"code": "forbidden", "error": "x", "status": 503});
    let failure = failure_of(Answer::envelope(known)).await;
    assert_eq!(failure.class(), Class::Forbidden);
    // A type is a code only where it is a known one.
    let typed = json!({"type": "error", "error": {"type": "invalid_request_error"}});
    assert_eq!(failure_of(Answer::envelope(typed)).await.code(), None);
}

#[tokio::test]
async fn not_retryable_counts_from_any_source() {
    let no = [
        json!({"code": "upstream_error", "retryable": false}),
        json!({"code": "rate_limited", "retryAfter": 1, "is_retryable": false}),
        json!({"code": "rate_limited", "error": {"isRetryable": false}}),
        json!({"code": "rate_limited", "details": {"retryable": false}}),
        json!({"code": "rate_limited", "error": {"details": {"retryable": false}}}),
        json!({"code": "rate_limited", "data": {"retryable": false}}),
        json!({"adcp_error": {"code": "RATE_LIMITED", "RETRYABLE": false}}),
        json!({"retryable": true, "error": {"retryable": false}}),
        json!({"retryable": false, "error": {"retryable": true}}),
    ];
    for envelope in no {
        let failure = failure_of(Answer::envelope(envelope.clone())).await;
        assert_eq!(failure.retryable(), Some(false), "{envelope}");
    }
    let both = json!({"code": "upstream_error", "retryable": true, "retryAfter": 5});
    let cases = [
        (Some(both), false, Class::Upstream),
        (None, false, Class::Tool),
        (None, true, Class::Tool),
    ];
    for (structured, retryable, class) in cases {
        let meta = json!({"ns": {"retryable": retryable, "retryAfter": 9}});
        let mut answer = full(structured);
        answer.meta = meta.as_object().cloned();
        // A stranger's namespace may forbid a repeat, and not allow one.
        let heard = Some(retryable).filter(|retryable| !retryable);
        let expected = (class, Delivery::Executed, seconds(9), heard);
        assert_eq!(verdict(&failure_of(answer).await), expected, "{meta}");
    }
}

#[tokio::test]
async fn code_and_wait_are_found_wherever_servers_put_them() {
    let inner = json!({"code": "RATE_LIMITED", "message": "slow", "retry_after": 5});
    let wrap = |key: &str, value: &Value| json!({key: value});
    let forms = [
        inner.clone(),
        wrap("error", &inner),
        wrap("details", &inner),
        wrap("error", &wrap("details", &inner)),
        wrap("data", &inner),
        wrap("adcp_error", &inner),
        json!({"code": "E17", "error": inner}),
        json!({"code": 17, "error": inner}),
        json!({"code": "RATE_LIMITED", "message": "slow", "retry_after": 5, "ns": {"retry_after": 3}}),
    ];
    for form in forms {
        let in_text = Answer::flagged(&form.to_string());
        let mut beside_data = full(Some(json!({"page": 1})));
        beside_data.texts.push(form.to_string());
        for answer in [Answer::envelope(form.clone()), in_text, beside_data] {
            // A text may quote any source.
            let delivery = match &answer.structured {
                Some(structured) if *structured == form => Delivery::Refused,
                _ => Delivery::Unknown,
            };
            let failure = failure_of(answer).await;
            let expected = (Class::RateLimited, delivery, seconds(5), None);
            assert_eq!(verdict(&failure), expected, "{form}");
            assert_eq!(failure.code(), Some(&Code::from("RATE_LIMITED")), "{form}");
            assert_eq!(failure.message(), Some("slow"), "{form}");
        }
    }
}

#[tokio::test]
async fn the_first_text_that_is_an_envelope_is_read_not_the_first_that_is_json() {
    let texts = [json!({"hits": []}), json!({"code": "rate_limited"})];
    let answer = Answer {
        texts: texts.map(|json| json.to_string()).into(),
        ..full(None)
    };
    assert_eq!(failure_of(answer).await.class(), Class::RateLimited);
}

/// As their servers send them.
#[tokio::test]
async fn envelopes_of_other_public_servers_mean_what_they_say() {
    #[rustfmt::skip]
    let cases = [
        ("GitLab", json!({"error": {"type": "rate_limited", "retry_after_seconds": 60, "limit": "search_rate_limit", "message": "x"}}), 60_000),
        ("AdCP", json!({"adcp_error": {"code": "RATE_LIMITED", "message": "x", "retry_after": 5, "recovery": "transient"}}), 5_000),
        ("e2a", json!({"code": "rate_limited", "retryable": true, "status": 429, "retry_after_seconds": 30, "details": {}}), 30_000),
        ("FullContact", json!({"error": {"code": "rate_limit_exceeded", "message": "x", "request_id": "r", "retry_after_seconds": 30}}), 30_000),
        ("Langfuse", json!({"code": "rate_limited", "message": "x", "details": {"retryAfterSeconds": 60, "limit": 30, "remaining": 0}}), 60_000),
        ("Docdex", json!({"error": {"code": "rate_limited", "retry_after_ms": 1200}}), 1_200),
        ("Accounter", json!({"code": "RATE_LIMIT_ERROR", "message": "x", "correlationId": "c", "retryable": true, "retryAfterMs": 1500}), 1_500),
        ("Brave", json!({"type": "ErrorResponse", "error": {"status": 429, "code": "RATE_LIMITED", "detail": "x", "meta": {}}}), 0),
    ];
    for (server, envelope, millis) in cases {
        let failure = failure_of(Answer::envelope(envelope)).await;
        let wait = failure.retry_after().unwrap_or_default();
        assert_eq!(wait, Duration::from_millis(millis), "{server}");
        assert_eq!(failure.class(), Class::RateLimited, "{server}");
    }
}

#[tokio::test]
async fn texts_that_sdks_write_are_known() {
    #[rustfmt::skip]
    let cases = [
        ("Error executing tool get_author: No book titled 'Nothing' in the catalog.", Class::Tool, Delivery::Executed),
        ("Error executing tool terr: quota hit, wait 30s", Class::Tool, Delivery::Executed),
        ("Error executing tool get_author", Class::Crash, Delivery::Unknown),
        ("Error executing tool t: 1 validation error for tArguments\na\n  Input should be a valid integer", Class::InvalidInput, Delivery::Unknown),
        ("1 validation error for call[t]\na\n  Input should be a valid integer", Class::InvalidInput, Delivery::Unknown),
        ("12 validation errors for call[t]", Class::InvalidInput, Delivery::Unknown),
        ("MCP error -32602: Input validation error: Invalid arguments for tool compare_prices: A full domain name is required at domain", Class::InvalidInput, Delivery::Unknown),
        ("Input validation error: Invalid arguments for tool t: a: Too big: expected array to have <=20 items at domains", Class::InvalidInput, Delivery::Unknown),
        ("failed to deserialize parameters: missing field `title`", Class::InvalidInput, Delivery::Unknown),
        ("MCP error -32602: Output validation error: Invalid structured content for tool o: x", Class::InvalidOutput, Delivery::Executed),
        ("Output validation error: Tool n has an output schema but no structured content was provided", Class::InvalidOutput, Delivery::Executed),
        ("MCP error -32602: Tool nope not found", Class::NotFound, Delivery::Unknown),
        ("Unknown tool: nosuch", Class::NotFound, Delivery::Unknown),
        ("Unknown tool: 'nosuch'", Class::NotFound, Delivery::Unknown),
        (" Unknown tool: nosuch\n", Class::NotFound, Delivery::Unknown),
        ("Invalid domain format", Class::Tool, Delivery::Executed),
        ("MCP error -32000: limited", Class::Tool, Delivery::Executed),
    ];
    for (text, class, delivery) in cases {
        let failure = failure_of(Answer::flagged(text)).await;
        assert_eq!(verdict(&failure), (class, delivery, None, None), "{text}");
        assert_eq!(failure.message(), Some(text.trim()), "{text}");
        assert_eq!(failure.code(), None, "{text}");
    }
}

/// "Un texte qui commence par `MCP error -32602:`": the SDK turned the call away.
#[tokio::test]
async fn the_number_of_invalid_parameters_in_front_of_a_text_says_so() {
    let text = "MCP error -32602: Invalid arguments for tool get_author: title";
    let failure = failure_of(Answer::flagged(text)).await;
    assert_eq!(failure.class(), Class::InvalidInput);
}

#[tokio::test]
async fn nothing_in_a_free_text_decides_the_class() {
    #[rustfmt::skip]
    let texts = [
        "429 rate limit exceeded, retry after 3 s",
        "API rate limit exceeded",
        "Rate limited by upstream API, please retry later",
        "GitHub secondary rate limit exceeded. Retry after 45s.",
        "Request failed with status 503. Please try again later.",
        "Upstream request timed out, please retry",
        "timeout", "not found", "unauthorized", "forbidden", "connection reset", "rate_limited",
        "Tool box of the smith not found", "the tool said: Unknown tool: x", "Session not found",
        "see: MCP error -32602: Tool nope not found", "Error executing tool of the trade",
        r#"Error: {"code": "rate_limited", "retryAfter": 3}"#, r#"["rate_limited"]"#,
        r#"{"code": "rate_limited", "retryAfter": 3"#, "\"rate_limited\"",
        "429", "-32602", "true", "null", "", " \n",
    ];
    for text in texts {
        let mut failure = failure_of(Answer::flagged(text)).await;
        let nothing = (Class::Tool, Delivery::Executed, None, None);
        assert_eq!(verdict(&failure), nothing, "{text:?}");
        assert_eq!((failure.code(), failure.status()), (None, None), "{text:?}");
        let kept: Option<Answer> = failure.take_result();
        assert_eq!(kept, Some(Answer::flagged(text)));
    }
}

#[tokio::test]
async fn a_text_beyond_the_scan_limit_is_not_read_as_json() {
    let limit = 16 * 1024;
    for (length, class) in [(limit, Class::RateLimited), (limit + 1, Class::Tool)] {
        let frame = json!({"code": "rate_limited", "error": ""}).to_string();
        let error = "x".repeat(length - frame.len());
        let text = json!({"code": "rate_limited", "error": error}).to_string();
        assert_eq!(text.len(), length);
        let mut failure = failure_of(Answer::flagged(&text)).await;
        assert_eq!(failure.class(), class, "{length} bytes");
        assert!(failure.to_string().len() <= 4096, "the message is bounded");
        assert_eq!(failure.take_result(), Some(Answer::flagged(&text)));
    }
}

#[tokio::test]
async fn a_json_rpc_error_is_named_and_kept_as_it_is() {
    use self::{Class as C, Delivery as D};
    let none = || Value::Null;
    #[rustfmt::skip]
    let cases = [
        (-32602, "Invalid params", none(), C::InvalidInput, D::Unknown, None, None),
        (-32602, "unknown tool \"x\"", none(), C::NotFound, D::Unknown, None, None),
        (-32602, "tool not found", none(), C::NotFound, D::Unknown, None, None),
        (-32602, "Unknown tool: x", none(), C::NotFound, D::Unknown, None, None),
        (-32602, "Tool nope not found", none(), C::NotFound, D::Unknown, None, None),
        (-32602, "No book titled 'Nothing' in the catalog.", json!({"uri": "books://Nothing"}), C::InvalidInput, D::Unknown, None, None),
        (-32002, "Resource not found", json!({"uri": "books://Nothing"}), C::NotFound, D::Unknown, None, None),
        (-32600, "Session not found", none(), C::SessionLost, D::Unknown, None, None),
        (-32600, "Session terminated", none(), C::SessionLost, D::Unknown, None, None),
        (-32001, "Session not found", none(), C::SessionLost, D::Unknown, None, None),
        (-32001, "Session terminated", none(), C::SessionLost, D::Unknown, None, None),
        (-32001, "Request timed out", none(), C::Protocol, D::Unknown, None, None),
        (-32600, "Batch requests are not supported", none(), C::Protocol, D::Unknown, None, None),
        (-32603, "Session not found", none(), C::Protocol, D::Unknown, None, None),
        (-32700, "Parse error", none(), C::Protocol, D::Unknown, None, None),
        (-32601, "Method not found", none(), C::Protocol, D::Unknown, None, None),
        (-32023, "slow down", json!({"retryAfter": 9}), C::RateLimited, D::Refused, seconds(9), None),
        (-32023, "slow down", none(), C::Protocol, D::Unknown, None, None),
        (-32029, "slow down", json!({"retry_after_ms": 2000}), C::RateLimited, D::Unknown, seconds(2), None),
        (-32029, "slow down, retry after 3 s", json!({"reason": "quota"}), C::Protocol, D::Unknown, None, None),
        (-32603, "Internal error", none(), C::Protocol, D::Unknown, None, None),
        (-32603, "Internal error", json!({"retryable": true}), C::Upstream, D::Unknown, None, Some(true)),
        (-32603, "Internal error", json!({"retryable": false}), C::Protocol, D::Unknown, None, Some(false)),
        (-32029, "slow down", json!({"retryAfter": 9, "retryable": false}), C::RateLimited, D::Unknown, seconds(9), Some(false)),
        (-32800, "Request cancelled", none(), C::Cancelled, D::Unknown, None, None),
        (-32000, "Rate limit exceeded", json!({"limit": 100, "window": 60000, "retryAfter": 45}), C::Protocol, D::Unknown, seconds(45), None),
        (-32000, "429 Too Many Requests", none(), C::Protocol, D::Unknown, None, None),
        (-32000, "slow", json!({"code": "rate_limited", "retry_after_ms": 1000}), C::RateLimited, D::Refused, seconds(1), None),
        (-32603, "down", json!({"error": {"code": "service_unavailable"}}), C::Unavailable, D::Refused, None, None),
        (-32029, "slow", json!({"adcp_error": {"code": "RATE_LIMITED", "retry_after": 5}}), C::RateLimited, D::Refused, seconds(5), None),
        (-32603, "bad", json!({"code": "upstream_error"}), C::Upstream, D::Executed, None, None),
        (-32603, "bad", json!({"code": "upstream_error", "error": "x", "status": 502}), C::Upstream, D::Executed, None, Some(true)),
        (7, "of the application", json!("no object"), C::Protocol, D::Unknown, None, None),
    ];
    for (code, message, data, class, delivery, wait, retryable) in cases {
        let data = Some(data).filter(|data| !data.is_null());
        let error = RpcError::new(code, message, data);
        let deep = wrapped(wrapped(error.clone()));
        for thrown in [error.clone().into(), wrapped(error.clone()), deep] {
            let is_wrapped = !thrown.is::<RpcError>();
            let failure = failure_of_error(thrown).await;
            // The code that wrapped it may have done half its work before.
            let delivery = match delivery {
                D::Refused if is_wrapped => D::Unknown,
                delivery => delivery,
            };
            // A cause does not permit a repeat of the call.
            let retryable = retryable.filter(|yes| !is_wrapped || !yes);
            let expected = (class, delivery, wait, retryable);
            assert_eq!(verdict(&failure), expected, "{error:?}");
            assert_eq!(failure.rpc_error(), Some(&error));
            assert_eq!(failure.message(), Some(message), "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_failure_beats_the_json_rpc_error_that_caused_it() {
    let cause = RpcError::new(-32000, "quota", None);
    let failure = || {
        let failure = Failure::rate_limited(seconds(9)).before_running();
        failure.because(cause.clone())
    };
    let cases = [
        (failure().into(), Delivery::Refused),
        (wrapped(failure()), Delivery::Unknown),
    ];
    for (error, delivery) in cases {
        let failure = failure_of_error(error).await;
        let expected = (Class::RateLimited, delivery, seconds(9), None);
        assert_eq!(verdict(&failure), expected);
    }
}

#[tokio::test]
async fn the_chain_of_a_json_rpc_error_keeps_the_errors_around_it() {
    let error = wrapped(RpcError::new(-32603, "quota table is gone", None));
    let chain = failure_of_error(error).await.chain().to_string();
    assert!(chain.contains("while asking the catalog"), "{chain}");
    assert!(chain.contains("quota table is gone"), "{chain}");
}

#[derive(Debug, thiserror::Error)]
#[error("pool exhausted")]
struct PoolExhausted;

#[tokio::test]
async fn the_first_rule_that_answers_names_the_error_wherever_it_is() {
    let layer = ClassifyLayer::new()
        .rule(|_: &PoolExhausted| None)
        .rule(|_: &io::Error| Some(Failure::fatal("the disk is gone")))
        .rule(|_: &PoolExhausted| Some(Failure::at_capacity(None)))
        .rule(|_: &PoolExhausted| Some(Failure::tool("not asked any more")))
        .rule(|error: &RpcError| (error.code == -32105).then(|| Failure::rate_limited(None)));
    let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
    let limited = |code| RpcError::new(code, "slow", None);
    #[rustfmt::skip]
    let cases = [
        ("bare", PoolExhausted.into(), Class::AtCapacity),
        ("deep", wrapped(wrapped(PoolExhausted)), Class::AtCapacity),
        ("inside io", io::Error::other(PoolExhausted).into(), Class::Fatal),
        ("instead of what is known", wrapped(reset()), Class::Fatal),
        ("a JSON-RPC error", limited(-32105).into(), Class::RateLimited),
        ("no answer: as ever", limited(-32602).into(), Class::InvalidInput),
    ];
    for (case, error, class) in cases {
        let text = error.to_string();
        let failure = classified_by(layer.clone(), Err(error)).await.unwrap_err();
        assert_eq!(failure.class(), class, "{case}");
        if failure.rpc_error().is_none() {
            assert_eq!(failure.source().unwrap().to_string(), text, "{case}");
        }
    }
}

#[tokio::test]
async fn a_result_rule_sees_a_failure_that_goes_out_flagged() {
    let layer = ClassifyLayer::new()
        .result_rule(|_: &Answer| None)
        .result_rule(|answer: &Answer| {
            let is_refusal = answer.text() == "API rate limit exceeded";
            is_refusal.then(|| Failure::rate_limited(seconds(3)).before_running())
        })
        .result_rule(|answer: &Answer| (answer.text() != "12.50").then(|| Failure::tool("late")));
    let mut refusal = Answer {
        texts: vec!["API rate limit exceeded".to_owned()],
        ..full(Some(json!({"page": 1})))
    };
    refusal.is_error = false;
    let passed = classified_by(layer.clone(), Ok(Answer::ok("12.50"))).await;
    assert_eq!(passed.unwrap(), Answer::ok("12.50"));
    let failed = classified_by(layer.clone(), Ok(refusal.clone())).await;
    let expected = (Class::RateLimited, Delivery::Refused, seconds(3), None);
    assert_eq!(verdict(&failed.unwrap_err()), expected);

    let tools = layer.layer(Script::new([Ok(refusal.clone())]));
    let stack = IsErrorLayer::new().layer(tools);
    let answer = stack.oneshot(Call::tool("search")).await.unwrap();
    refusal.is_error = true;
    assert_eq!(answer, refusal);
}

fn panic_with(payload: &str) {
    match payload {
        "text" => panic!("no such shelf"),
        "formatted" => panic!("{payload}: no such shelf"),
        _ => std::panic::panic_any(7_u8),
    }
}

#[tokio::test]
async fn a_panic_is_a_crash_and_the_service_stays_usable() {
    let service = service_fn(|call: Call| {
        let (place, payload) = call.name.split_once(' ').unwrap();
        let (place, payload) = (place.to_owned(), payload.to_owned());
        if place == "call" {
            panic_with(&payload);
        }
        async move {
            if place == "first" {
                panic_with(&payload);
            }
            tokio::task::yield_now().await;
            if place == "later" {
                panic_with(&payload);
            }
            Ok::<_, BoxError>(Answer::ok("12.50"))
        }
    });
    let mut tools = ClassifyLayer::new().layer(Strict::new(service));
    for place in ["call", "first", "later"] {
        for payload in ["text", "formatted", "number"] {
            let case = format!("{place} {payload}");
            let ready = tools.ready().await.unwrap();
            let failure = ready.call(Call::tool(&case)).await.unwrap_err();
            let crash = (Class::Crash, Delivery::Unknown, None, None);
            assert_eq!(verdict(&failure), crash, "{case}");
            // For the log alone.
            assert!(!failure.to_string().contains("shelf"), "{case}");
            let chain = failure.chain().to_string();
            let is_told = payload == "number" || chain.contains("no such shelf");
            assert!(is_told && chain.contains("panicked"), "{case}: {chain}");
            let ready = tools.ready().await.unwrap();
            let next = ready.call(Call::tool("nowhere at all")).await;
            assert_eq!(next.unwrap(), Answer::ok("12.50"), "after {case}");
        }
    }
}

#[tokio::test]
async fn a_service_without_errors_of_its_own_still_fails_by_its_results() {
    let service = service_fn(|call: Call| {
        ready(Ok::<_, Infallible>(match call.name.as_str() {
            "quote" => Answer::ok("12.50"),
            _ => Answer::flagged("no such tool"),
        }))
    });
    let tools = ClassifyLayer::new().layer(service);
    let answer = tools.clone().oneshot(Call::tool("quote")).await;
    assert_eq!(answer.unwrap(), Answer::ok("12.50"));
    let failure = tools.oneshot(Call::tool("other")).await.unwrap_err();
    assert_eq!(failure.class(), Class::Tool);
}

/// A service that is never ready.
struct Unready(fn() -> BoxError);

impl Service<Call> for Unready {
    type Response = Answer;
    type Error = BoxError;
    type Future = Ready<Result<Answer, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Err((self.0)()))
    }

    fn call(&mut self, _: Call) -> Self::Future {
        unreachable!("called though it is not ready")
    }
}

async fn unready(error: fn() -> BoxError) -> Failure {
    let layer = ClassifyLayer::new().rule(|_: &PoolExhausted| Some(Failure::at_capacity(None)));
    let tools = layer.layer(Unready(error));
    tools.oneshot(Call::tool("search")).await.unwrap_err()
}

#[tokio::test]
async fn an_error_of_readiness_is_classified_too() {
    #[rustfmt::skip]
    let cases: [(fn() -> BoxError, Class); 4] = [
        (|| io::Error::from(io::ErrorKind::BrokenPipe).into(), Class::Connection),
        (|| PoolExhausted.into(), Class::AtCapacity),
        (|| RpcError::new(-32600, "Session terminated", None).into(), Class::SessionLost),
        (|| "a bug".into(), Class::Crash),
    ];
    for (error, class) in cases {
        assert_eq!(unready(error).await.class(), class);
    }
}

/// `NotSent`: "it never left: no connection, no readiness".
#[tokio::test]
async fn a_call_of_a_service_that_is_not_ready_was_not_sent() {
    let failure = unready(|| io::Error::from(io::ErrorKind::BrokenPipe).into()).await;
    assert_eq!(failure.delivery(), Delivery::NotSent);
}

/// "Makes one `Failure` of ... every panic".
#[tokio::test]
async fn a_panic_of_readiness_is_a_crash_too() {
    let failure = unready(|| panic!("no such shelf")).await;
    assert_eq!(failure.class(), Class::Crash);
}

#[tokio::test]
async fn a_wait_and_a_no_are_heard_wherever_the_code_beside_them_is() {
    let said = json!({"code": "rate_limited", "retryAfter": 60, "retryable": false});
    let nested = [
        json!({"error": {"data": said}}),
        json!({"data": {"error": said}}),
        json!({"details": {"error": said}}),
        json!({"error": {"message": "x", "data": said}}),
        json!({"error": {"error": said}}),
    ];
    for envelope in nested {
        let failure = failure_of(Answer::envelope(envelope.clone())).await;
        assert_eq!(failure.retryable(), Some(false), "{envelope}");
        let wait = failure.retry_after();
        assert_eq!(wait, Some(Duration::from_secs(60)), "{envelope}");
    }
}

#[tokio::test]
async fn a_cause_does_not_permit_a_repeat_of_the_call() {
    let upstream = RpcError::new(-32603, "x", Some(json!({"retryable": true})));
    let failure = failure_of_error(wrapped(upstream)).await;
    assert_eq!(failure.retryable(), None);
    let upstream = Failure::upstream("x").with_retryable(true);
    let failure = failure_of_error(wrapped(upstream)).await;
    assert_eq!(failure.retryable(), None);
}
