//! Line, span and metrics agree for every stack and outcome.

use crate::{
    metrics::Read,
    recorded::{Recorded, attribute, text},
    support::{Answer, Call, Lines, Script},
};
use mcp_resilience::{
    Class, Delivery, Failure,
    call::Method,
    call_log::{CallLogLayer, Sink},
    classify::ClassifyLayer,
    fatal::FatalLayer,
    is_error::IsErrorLayer,
    retry::RetryLayer,
    timeout::TimeoutLayer,
};
use opentelemetry::trace::Status;
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    task::Poll,
    time::Duration,
};
use tower::{BoxError, Layer, ServiceExt, util::BoxCloneService};

#[derive(Clone, Debug)]
enum Step {
    Success,
    Flagged,
    Envelope,
    Interim,
    Fails(Class, Delivery),
    Rpc,
    Breaks,
    Panics,
    Hangs,
}

/// What a tool answers that is about to panic.
const PANIC: &str = "panic";

impl Step {
    fn play(&self) -> (Duration, Result<Answer, BoxError>) {
        let answer = match self {
            Self::Success => Ok(Answer::ok("fine")),
            Self::Flagged => Ok(Answer::flagged("no such book")),
            Self::Envelope => Ok(Answer::envelope(
                json!({"code": "rate_limited", "error": "slow down", "retryAfter": 1}),
            )),
            Self::Interim => Ok(Answer {
                is_interim: true,
                ..Answer::default()
            }),
            Self::Fails(class, delivery) => {
                let failure = Failure::new(*class, "it failed");
                Err(failure.with_delivery(*delivery).into())
            }
            Self::Rpc => Err(Failure::protocol(-32000, "no", None).into()),
            Self::Breaks => Err("boom".into()),
            Self::Panics => Ok(Answer::ok(PANIC)),
            Self::Hangs => return (Duration::from_secs(100_000), Ok(Answer::ok("late"))),
        };
        (Duration::from_millis(3), answer)
    }
}

fn steps() -> impl Strategy<Value = Step> {
    let classes = select(Class::all().collect::<Vec<_>>());
    let deliveries = select(vec![
        Delivery::NotSent,
        Delivery::Refused,
        Delivery::Unknown,
        Delivery::Executed,
    ]);
    prop_oneof![
        2 => Just(Step::Success),
        1 => Just(Step::Flagged),
        1 => Just(Step::Envelope),
        1 => Just(Step::Interim),
        5 => (classes, deliveries).prop_map(|(class, delivery)| Step::Fails(class, delivery)),
        1 => Just(Step::Rpc),
        1 => Just(Step::Breaks),
        1 => Just(Step::Panics),
        1 => Just(Step::Hangs),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Part {
    IsError,
    Fatal,
    Retry,
    Classify,
    Timeout,
    Spawn,
}

type Tools = BoxCloneService<Call, Answer, BoxError>;

fn around(part: Part, tools: Tools) -> Tools {
    fn boxed<S>(tools: S) -> Tools
    where
        S: tower::Service<Call, Response = Answer, Error: Into<BoxError>, Future: Send>
            + Clone
            + Send
            + 'static,
    {
        BoxCloneService::new(tools.map_err(Into::into))
    }
    match part {
        Part::IsError => boxed(IsErrorLayer::new().layer(tools)),
        Part::Fatal => boxed(FatalLayer::new().answering().layer(tools)),
        Part::Retry => boxed(RetryLayer::new().layer(tools)),
        Part::Classify => boxed(ClassifyLayer::new().layer(tools)),
        Part::Timeout => boxed(
            TimeoutLayer::new(Duration::from_secs(30))
                .unwrap()
                .layer(tools),
        ),
        Part::Spawn => boxed(tools.map_future(|answer| async { tokio::spawn(answer).await? })),
    }
}

/// A tool that takes these steps, again and again.
fn tool(steps: &[Step]) -> Tools {
    // More than any stack asks for.
    let script = steps.iter().cycle().take(100).map(Step::play);
    let tool = Script::timed(script).map_response(|answer| {
        assert_ne!(answer.text(), PANIC);
        answer
    });
    BoxCloneService::new(tool)
}

/// How a call ended for its caller.
#[derive(Debug)]
enum Seen {
    Answered(Result<Answer, Failure>),
    Panicked,
    Dropped,
}

async fn seen(
    call: impl Future<Output = Result<Answer, Failure>>,
    dropped_after: Option<Duration>,
) -> Seen {
    let mut call = Box::pin(call);
    let caught = poll_fn(move |cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx)));
        polled.map_or(Poll::Ready(Seen::Panicked), |polled| {
            polled.map(Seen::Answered)
        })
    });
    let limit = dropped_after.unwrap_or(Duration::from_secs(200_000));
    let seen = tokio::time::timeout(limit, caught).await;
    // A task that a layer spawned keeps the span open.
    tokio::time::sleep(Duration::from_secs(200_000)).await;
    seen.unwrap_or(Seen::Dropped)
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    use Part::{Classify, Fatal, IsError, Retry, Spawn, Timeout};
    let any = select(vec![IsError, Fatal, Retry, Classify, Timeout, Spawn]);
    prop_oneof![
        Just(vec![IsError, Fatal, Retry, Classify, Timeout]),
        prop::collection::vec(any, 0..6),
    ]
}

async fn check(parts: &[Part], steps: &[Step], method: Method, dropped_after: Option<Duration>) {
    let recorded = Recorded::begin();
    let (lines, read) = (Lines::default(), Read::begin());
    let mut tools = tool(steps);
    for part in parts.iter().rev() {
        tools = around(*part, tools);
    }
    let layer = CallLogLayer::new(lines.clone().and(read.metrics()));
    let call = Call {
        method,
        ..Call::read_only("quote_price")
    };
    let seen = seen(layer.layer(tools).oneshot(call), dropped_after).await;

    let line = lines.only();
    let span = recorded.call();
    let (outcome, is_error) = match &seen {
        Seen::Dropped => ("cancelled", None),
        Seen::Answered(Ok(answer)) if answer.is_interim => ("interim", None),
        Seen::Answered(Ok(answer)) if answer.is_error => ("failed", Some(true)),
        Seen::Answered(Ok(_)) => ("success", Some(false)),
        Seen::Answered(Err(_)) | Seen::Panicked => ("failed", None),
    };
    let is_error = is_error.filter(|_| method == Method::CallTool);
    assert_eq!(line["outcome"], outcome, "{line}");
    assert_eq!(
        line.get("is_error"),
        is_error.map(Value::from).as_ref(),
        "{line}"
    );
    assert_eq!(line["retried"], line["attempts"].as_u64() > Some(1));
    let attempts = line["attempts"].as_u64().unwrap();

    // The span.
    let has = |key: &str| attribute(&span, key);
    assert_eq!(text(&span, "mcp_resilience.outcome").unwrap(), outcome);
    assert_eq!(
        has("mcp_resilience.attempts"),
        Some(i64::try_from(attempts).unwrap().into())
    );
    let error_type = text(&span, "error.type");
    assert_eq!(error_type.is_some(), outcome == "failed", "{line}");
    assert_eq!(
        matches!(span.status, Status::Error { .. }),
        outcome == "failed"
    );
    assert_eq!(line["trace_id"], span.span_context.trace_id().to_string());
    if let Some(error) = error_type.as_deref() {
        let expected = match &seen {
            Seen::Panicked => "crash".to_owned(),
            Seen::Answered(Err(failure)) if failure.rpc_error().is_some() => {
                failure.rpc_error().unwrap().code.to_string()
            }
            Seen::Answered(Err(failure)) if !failure.has_result() => failure.class().to_string(),
            _ => "tool_error".to_owned(),
        };
        assert_eq!(error, expected, "{line}");
    }
    match &seen {
        Seen::Answered(Err(failure)) => assert_eq!(line["class"], failure.class().as_str()),
        Seen::Panicked => assert_eq!(line["class"], "crash"),
        _ => {}
    }
    let of_attempts = recorded.attempts();
    for attempt in &of_attempts {
        let trace = attempt.span_context.trace_id();
        assert_eq!(trace, span.span_context.trace_id(), "{line}");
    }
    let retries = parts
        .iter()
        .filter(|part| matches!(part, Part::Retry))
        .count();
    if retries == 1 {
        let first_border = parts.iter().position(|part| matches!(part, Part::Classify));
        let retry = parts.iter().position(|part| matches!(part, Part::Retry));
        // A stack below `Classify` is not about this call.
        if first_border.is_none_or(|border| retry.unwrap() < border) {
            let last = of_attempts.len() as u64;
            assert!(
                last == attempts || outcome == "cancelled" || last == 0,
                "{line}"
            );
        }
    }

    // The metrics.
    let points = read.points();
    let duration = points.one("mcp_resilience.operation.duration");
    assert_eq!(duration.value, 1);
    assert_eq!(duration.label("mcp_resilience.outcome"), Some(outcome));
    assert_eq!(duration.label("error.type"), error_type.as_deref());
    let code = text(&span, "rpc.response.status_code");
    assert_eq!(duration.label("rpc.response.status_code"), code.as_deref());
    assert_eq!(points.one("mcp_resilience.attempts").value, attempts);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn line_span_and_metrics_never_contradict_each_other(
        parts in parts(),
        steps in prop::collection::vec(steps(), 1..5),
        method in select(vec![Method::CallTool, Method::ReadResource, Method::GetPrompt]),
        dropped_after in prop_oneof![3 => Just(None), 1 => (0_u64..5_000).prop_map(Some)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let dropped_after = dropped_after.map(Duration::from_millis);
        runtime.block_on(check(&parts, &steps, method, dropped_after));
    }
}
