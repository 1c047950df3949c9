//! The class of a failure: which are repeated, and which are not.

use crate::{
    stack::{
        SECOND, Server, Wrapped, fails, fine, gives, lost, preset, refuses, retry, see, see_in,
        wrapped_twice,
    },
    support::{Answer, Call, Lines, Script},
};
use mcp_resilience::{Class, Failure, classify::ClassifyLayer, failure::RpcError};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    io::{Error, ErrorKind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tower::{BoxError, Layer, ServiceExt, service_fn};

#[tokio::test(start_paused = true)]
async fn case_015_an_error_of_a_healthy_server_neither_reconnects_nor_runs_the_tool_again() {
    let rpc = |code| RpcError::new(code, "invalid params: path missing", None);
    let steps: [fn() -> Answer; 2] = [
        || Answer::flagged("invalid params: path missing"),
        || {
            Answer::envelope(
                json!({"code": "bad_request", "error": "invalid params: path missing"}),
            )
        },
    ];
    let mut steps: Vec<crate::stack::Step> = steps.map(|step| Ok(step())).into();
    steps.extend([-32602, -32603, -32000].map(|code| Err(rpc(code).into())));
    let classes = [
        Class::InvalidInput,
        Class::NotFound,
        Class::Tool,
        Class::Upstream,
        Class::InvalidOutput,
        Class::Forbidden,
    ];
    steps.extend(classes.map(|class| fails(Failure::new(class, "invalid params: path missing"))));
    for step in steps {
        let connection = Script::new([fine(), step]);
        let server = Server::new([gives(&connection)]);
        server.call(Call::tool("open")).await.unwrap();
        let answer = server.call(Call::tool("open")).await;
        let said = match answer {
            Ok(answer) => format!("{answer:?}"),
            Err(failure) => failure.to_string(),
        };
        assert!(said.contains("invalid params: path missing"), "{said}");
        assert_eq!(connection.calls().len(), 2, "{said}");
        assert_eq!(server.dials().len(), 1, "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn case_017_a_type_or_a_rule_makes_a_timeout_and_a_text_does_not() {
    let texts = [
        "agent setup timed out",
        "Request timed-out",
        "runtime out of memory",
        "lifetime outage",
    ];
    let rule = |error: &Error| {
        let text = error.to_string();
        let is_one = text.contains("timed out") || text.contains("timed-out");
        is_one.then(|| Failure::timeout("timed out"))
    };
    let classes = ["timeout", "timeout", "crash", "crash"];
    for (text, class) in texts.into_iter().zip(classes) {
        let seen = see(Call::read_only("setup"), [Err(text.into())]).await;
        assert_eq!(seen.line["class"], "crash", "{text}");
        assert_eq!(seen.calls.len(), 1, "{text}");
        let flagged = see(Call::read_only("setup"), [Ok(Answer::flagged(text))]).await;
        assert_eq!(flagged.line["class"], "tool", "{text}");

        let layer = ClassifyLayer::new().rule(rule);
        let tool = Script::new([Err(wrapped_twice(Error::other(text)))]);
        let once = retry().max_attempts(1);
        let preset = |lines: &Lines| preset(lines, once).classify(layer);
        let seen = see_in(preset, Call::tool("setup"), tool).await;
        assert_eq!(seen.line["class"], class, "{text}");
    }
    let typed = Err(wrapped_twice(Error::from(ErrorKind::TimedOut)));
    let seen = see(Call::tool("setup"), [typed]).await;
    assert_eq!(seen.line["class"], "timeout");
}

/// Refusals of credentials, in every form in which they come.
fn refusals() -> Vec<fn() -> crate::stack::Step> {
    #[expect(clippy::unnecessary_wraps, reason = "it stands where others fail")]
    fn envelope(value: Value) -> crate::stack::Step {
        Ok(Answer::envelope(value))
    }
    vec![
        || fails(Failure::unauthorized("401 invalid key")),
        || fails(Failure::forbidden("403 invalid key")),
        || Err(wrapped_twice(Failure::unauthorized("401 invalid key"))),
        || envelope(json!({"code": "auth_failed", "error": "401 invalid key"})),
        || envelope(json!({"status": 401, "error": "invalid key", "retryAfter": 5})),
        || envelope(json!({"status": 403, "error": "invalid key", "retryable": true})),
        || {
            let data = json!({"status": 401, "retryAfter": 5});
            Err(RpcError::new(-32000, "401 invalid key", Some(data)).into())
        },
    ]
}

#[tokio::test(start_paused = true)]
async fn case_019_refused_credentials_are_not_tried_again() {
    for refusal in refusals() {
        let seen = see(Call::read_only("search"), [refusal()]).await;
        assert_eq!(seen.calls, [Duration::ZERO]);
        assert_eq!(seen.took, Duration::ZERO, "no sleep");
        assert_eq!(seen.line["outcome"], "failed");
        let class = seen.line["class"].as_str().unwrap();
        assert!(["unauthorized", "forbidden"].contains(&class), "{class}");
        // As a JSON-RPC error it stays one.
        if seen.answer.is_ok() {
            seen.flagged();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_020_credentials_that_are_refused_while_reconnecting_fail_calls_soon_and_are_spaced() {
    let refusals: [fn() -> BoxError; 2] = [
        || Failure::unauthorized("401: the key is not valid").into(),
        || wrapped_twice(Failure::unauthorized("401: the key is not valid")),
    ];
    for refusal in refusals {
        let connection = Script::new([fine(), fine(), lost()]);
        let renewed = Script::new([fine()]);
        let refused = || refuses(refusal());
        let server = Server::new([
            gives(&connection),
            refused(),
            refused(),
            refused(),
            gives(&renewed),
        ]);
        let call = || server.call(Call::read_only("search"));
        call().await.unwrap();
        call().await.unwrap();
        let begun = tokio::time::Instant::now();
        let answer = call().await.unwrap();
        assert!(answer.is_error);
        // Dials after 0 and 1 s. A token may be renewed in the meantime, so it is asked for each
        // time.
        assert_eq!(begun.elapsed().as_millis(), 1_000);
        assert_eq!(server.lines.all()[2]["class"], "unauthorized");
        let logged = server.lines.all()[2]["error"].to_string();
        assert!(logged.contains("401"), "{logged}");
        // Later calls wait for one dial, and learn the same.
        let later = call().await.unwrap();
        assert!(later.is_error);
        assert_eq!(begun.elapsed().as_millis(), 3_000);
        assert_eq!(server.lines.all()[3]["class"], "unauthorized");
        // There is no dial without a call, and the credentials may be valid an hour later.
        tokio::time::sleep(3600 * SECOND).await;
        assert_eq!(server.dials().len(), 4);
        assert_eq!(call().await.unwrap(), Answer::ok("fine"));
    }
}

#[tokio::test(start_paused = true)]
async fn case_021_a_permanent_cause_inside_a_transient_wrapper_is_permanent() {
    let unauthorized = || Failure::unauthorized("401");
    let reset = |cause: BoxError| Error::new(ErrorKind::ConnectionReset, cause);
    let wrappers: [BoxError; 4] = [
        reset(unauthorized().into()).into(),
        wrapped_twice(reset(unauthorized().into())),
        reset(wrapped_twice(unauthorized())).into(),
        Wrapped("bad gateway", reset(unauthorized().into()).into()).into(),
    ];
    for error in wrappers {
        let seen = see(Call::read_only("search"), [Err(error)]).await;
        assert_eq!(seen.calls.len(), 1);
        assert_eq!(seen.line["class"], "unauthorized");
        seen.flagged();
    }
}

#[tokio::test(start_paused = true)]
async fn case_023_every_error_of_a_broken_transport_is_one_however_deep_it_is() {
    use ErrorKind as E;
    let kinds = [
        (E::ConnectionRefused, "connection"),
        (E::ConnectionReset, "connection"),
        (E::ConnectionAborted, "connection"),
        (E::BrokenPipe, "connection"),
        (E::NotConnected, "connection"),
        (E::UnexpectedEof, "connection"),
        (E::TimedOut, "timeout"),
        (E::PermissionDenied, "crash"),
        (E::InvalidData, "crash"),
        (E::InvalidInput, "crash"),
    ];
    for (kind, class) in kinds {
        let errors: [BoxError; 4] = [
            Error::from(kind).into(),
            Error::new(kind, "as the library says").into(),
            wrapped_twice(Error::from(kind)),
            Error::other(wrapped_twice(Error::from(kind))).into(),
        ];
        for error in errors {
            let connection = Script::new([fine(), Err(error)]);
            let next = Script::new([fine()]);
            let server = Server::new([gives(&connection), gives(&next)]);
            for _ in 0..3 {
                let _ = server.call(Call::tool("produce")).await;
                if server.lines.all().len() == 2 && class == "crash" {
                    break;
                }
            }
            assert_eq!(server.lines.all()[1]["class"], class, "{kind:?}");
            let dials = if class == "crash" { 1 } else { 2 };
            assert_eq!(server.dials().len(), dials, "{kind:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_025_a_failure_inside_an_answer_is_repeated_where_a_rule_sees_it() {
    fn rule(answer: &Answer) -> Option<Failure> {
        let code = answer.structured.as_ref().map(|said| &said["code"]);
        if code.is_some_and(|code| code == -32603) {
            return Some(Failure::upstream("internal error").with_retryable(true));
        }
        (answer.is_error && answer.text() == "rate limit reached")
            .then(|| Failure::rate_limited(None).before_running())
    }
    let internal = || Answer {
        structured: Some(json!({"code": -32603, "message": "internal"})),
        ..Answer::default()
    };
    let limited = || Answer::flagged("rate limit reached");
    let cases: [(&dyn Fn() -> Answer, usize); 2] = [(&internal, 2), (&limited, 1)];
    for (answer, times) in cases {
        for (layer, calls) in [
            (ClassifyLayer::new(), 1),
            (ClassifyLayer::new().result_rule(rule), times + 1),
        ] {
            let lines = Lines::default();
            let made = Arc::new(AtomicUsize::new(0));
            let tool = service_fn(|_: Call| {
                let is_fine = made.fetch_add(1, Relaxed) >= times;
                let answer = if is_fine {
                    Answer::ok("fine")
                } else {
                    answer()
                };
                async { Ok::<_, Infallible>(answer) }
            });
            let preset = preset(&lines, retry()).classify(layer).build().unwrap();
            let seen = preset.layer(tool).oneshot(Call::tool("ask")).await.unwrap();
            assert_eq!(made.load(Relaxed), calls);
            let expected = if calls == 1 {
                answer()
            } else {
                Answer::ok("fine")
            };
            assert_eq!(seen, expected, "unchanged without a rule");
            assert_eq!(lines.only()["attempts"], calls);
        }
    }
    // With the same limits as any other repeat.
    let preset = |lines: &Lines| {
        preset(lines, retry().max_attempts(2)).classify(ClassifyLayer::new().result_rule(rule))
    };
    let tool = Script::new([Ok(limited()), Ok(limited())]);
    let seen = see_in(preset, Call::tool("ask"), tool).await;
    assert_eq!(seen.calls.len(), 2);
    assert_eq!(seen.flagged(), &limited());
}
