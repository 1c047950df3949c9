//! The circuit breaker of `tower-resilience` in the preset.

use crate::support::{Answer, Call, Lines};
use mcp_resilience::{
    Delivery, Failure, ResilienceLayer, call_log::CallLogLayer, classify::ClassifyLayer,
    preset::Resilience, retry::RetryLayer,
};
use serde_json::json;
use std::{
    future::{Ready, ready},
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tower::{
    BoxError, Layer, Service, ServiceExt,
    layer::util::{Identity, Stack},
    util::MapErrLayer,
};
use tower_resilience_circuitbreaker::{
    CircuitBreakerError, CircuitBreakerHandle, CircuitBreakerLayer, CircuitState, FailureClassifier,
};

/// Longer than any test runs.
const OPEN: Duration = Duration::from_secs(3600);

type Outcome = Result<Answer, BoxError>;

/// A scripted tool that counts its runs.
#[derive(Clone)]
struct Tool {
    answer: Arc<Mutex<Box<dyn Fn() -> Outcome + Send>>>,
    runs: Arc<AtomicU32>,
}

impl Tool {
    fn new(answer: impl Fn() -> Outcome + Send + 'static) -> Self {
        Self {
            answer: Arc::new(Mutex::new(Box::new(answer))),
            runs: Arc::default(),
        }
    }

    fn now(&self, answer: impl Fn() -> Outcome + Send + 'static) {
        *self.answer.lock().unwrap() = Box::new(answer);
    }

    fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }
}

impl Service<Call> for Tool {
    type Response = Answer;
    type Error = BoxError;
    type Future = Ready<Outcome>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Call) -> Self::Future {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        ready(answer())
    }
}

/// Counts what speaks against the server.
#[derive(Clone)]
struct AgainstServer;

impl FailureClassifier<Answer, Failure> for AgainstServer {
    fn classify(&self, outcome: &Result<Answer, Failure>) -> bool {
        let failure = outcome.as_ref().err();
        failure.is_some_and(Failure::speaks_against_server)
    }
}

type Breaker = CircuitBreakerLayer<AgainstServer>;

fn breaker(open: Duration) -> (Breaker, CircuitBreakerHandle<AgainstServer>) {
    CircuitBreakerLayer::builder()
        .consecutive_failures(3)
        .wait_duration_in_open(open)
        .permitted_calls_in_half_open(1)
        .failure_classifier_type(AgainstServer)
        .build_with_handle()
        .unwrap()
}

fn unwrap(error: CircuitBreakerError<Failure>) -> Failure {
    error.into_inner().unwrap_or_else(|| {
        let open = Failure::unavailable(Some(Duration::from_secs(20)));
        open.with_delivery(Delivery::NotSent)
    })
}

type ToFailure = fn(CircuitBreakerError<Failure>) -> Failure;

type Inside = Stack<ClassifyLayer, Stack<Breaker, Stack<MapErrLayer<ToFailure>, Identity>>>;

fn stack(breaker: Breaker, attempts: u32, lines: &Lines) -> ResilienceLayer<Inside> {
    with_rules(ClassifyLayer::new(), breaker, attempts, lines)
}

fn with_rules(
    classify: ClassifyLayer,
    breaker: Breaker,
    attempts: u32,
    lines: &Lines,
) -> ResilienceLayer<Inside> {
    let retry = RetryLayer::builder().max_attempts(attempts);
    ResilienceLayer::builder()
        .retry(retry.build().unwrap())
        .log(CallLogLayer::new(lines.clone()))
        .classify(classify.clone())
        .layer_inside(MapErrLayer::new(unwrap as ToFailure))
        .layer_inside(breaker)
        .layer_inside(classify.inside())
        .build()
        .unwrap()
}

async fn call<S>(tools: &Resilience<S>, name: &str) -> Answer
where
    Resilience<S>: Service<Call, Response = Answer, Error = Failure> + Clone,
{
    tools.clone().oneshot(Call::tool(name)).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_breaker_opens_after_failures_that_speak_against_the_server() {
    let failures: [fn() -> Outcome; 5] = [
        || Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
        || Err(Failure::upstream("502").into()),
        || Err(Failure::unavailable(None).into()),
        || {
            Ok(Answer::envelope(
                json!({"code": "at_capacity", "error": "x"}),
            ))
        },
        || Err("nobody foresaw this".into()),
    ];
    for (at, failure) in failures.into_iter().enumerate() {
        let (layer, handle) = breaker(OPEN);
        let (tool, lines) = (Tool::new(failure), Lines::default());
        let tools = stack(layer, 1, &lines).layer(tool.clone());
        for _ in 0..3 {
            assert!(!handle.is_open(), "failure {at}");
            call(&tools, "search").await;
        }
        assert!(handle.is_open(), "failure {at}");
        assert_eq!(tool.runs(), 3, "failure {at}");
        call(&tools, "search").await;
        assert_eq!(
            tool.runs(),
            3,
            "failure {at}: an open circuit lets no call through"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn no_error_of_the_tool_of_the_model_or_of_the_host_opens_it() {
    let errors: [fn() -> Outcome; 8] = [
        || Ok(Answer::flagged("no such book")),
        || {
            Ok(Answer::envelope(
                json!({"code": "bad_request", "error": "x"}),
            ))
        },
        || {
            Ok(Answer::envelope(
                json!({"code": "rate_limited", "error": "x"}),
            ))
        },
        || Err(Failure::tool("confirm first").into()),
        || Err(Failure::invalid_input("title", "empty").into()),
        || Err(Failure::not_found("no such book").into()),
        || Err(Failure::forbidden("not yours").into()),
        || Err(Failure::cancelled("gone").into()),
    ];
    for (at, error) in errors.into_iter().enumerate() {
        let (layer, handle) = breaker(OPEN);
        let (tool, lines) = (Tool::new(error), Lines::default());
        let tools = stack(layer, 1, &lines).layer(tool.clone());
        for _ in 0..20 {
            let _ = tools.clone().oneshot(Call::tool("search")).await;
        }
        assert_eq!(handle.state(), CircuitState::Closed, "error {at}");
        assert_eq!(tool.runs(), 20, "error {at}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_is_unavailable_not_sent_and_tells_the_wait() {
    let (layer, handle) = breaker(OPEN);
    let (tool, lines) = (Tool::new(|| Ok(Answer::ok("found"))), Lines::default());
    let tools = stack(layer, 1, &lines).layer(tool.clone());
    handle.force_open().await;

    let answer = call(&tools, "delete").await;

    assert_eq!(
        answer.text(),
        "Error executing tool delete: the service is unavailable for now. \
         Wait 20 s before calling it again."
    );
    let line = lines.only();
    assert_eq!(line["class"], "unavailable", "{line}");
    assert_eq!(line["delivery"], "not_sent", "{line}");
    assert_eq!(tool.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_an_open_circuit_refused_is_made_again_though_its_tool_may_not_run_twice() {
    let (layer, handle) = breaker(OPEN);
    let (tool, lines) = (Tool::new(|| Ok(Answer::ok("deleted"))), Lines::default());
    let tools = stack(layer, 2, &lines).layer(tool.clone());
    handle.force_open().await;
    let begun = tokio::time::Instant::now();

    let calling = tokio::spawn(async move { tools.oneshot(Call::tool("delete")).await });
    tokio::time::sleep(Duration::from_secs(19)).await;
    handle.force_closed().await;

    assert_eq!(calling.await.unwrap().unwrap().text(), "deleted");
    assert!(
        begun.elapsed() >= Duration::from_secs(20),
        "never earlier than the hint"
    );
    assert_eq!(tool.runs(), 1);
}

#[tokio::test]
async fn a_half_open_circuit_closes_after_a_success_and_opens_again_after_a_failure() {
    // The breaker's clock is the machine's.
    let open = Duration::from_millis(20);
    let (layer, handle) = breaker(open);
    let (tool, lines) = (
        Tool::new(|| Err(Failure::unavailable(None).into())),
        Lines::default(),
    );
    let tools = stack(layer, 1, &lines).layer(tool.clone());
    for _ in 0..3 {
        call(&tools, "search").await;
    }
    assert!(handle.is_open());

    // The one call that is let through fails.
    tokio::time::sleep(open * 2).await;
    call(&tools, "search").await;
    assert_eq!(tool.runs(), 4);
    assert!(handle.is_open());

    tool.now(|| Ok(Answer::ok("found")));
    tokio::time::sleep(open * 2).await;
    assert_eq!(call(&tools, "search").await.text(), "found");
    assert_eq!(handle.state(), CircuitState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_rule_of_the_user_decides_what_opens_it() {
    #[derive(Debug, thiserror::Error)]
    #[error("pool exhausted")]
    struct PoolExhausted;

    let own = ClassifyLayer::new().rule(|_: &PoolExhausted| Some(Failure::tool("later")));
    for (classify, state) in [
        (own, CircuitState::Closed),
        (ClassifyLayer::new(), CircuitState::Open),
    ] {
        let (layer, handle) = breaker(OPEN);
        let tool = Tool::new(|| Err(PoolExhausted.into()));
        let tools = with_rules(classify, layer, 1, &Lines::default()).layer(tool);
        for _ in 0..3 {
            call(&tools, "search").await;
        }
        assert_eq!(handle.state(), state);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_server_is_still_one_outside_of_the_breaker() {
    let (layer, _) = breaker(OPEN);
    let (tool, lines) = (Tool::new(|| Ok(Answer::ok("unused"))), Lines::default());
    let refused =
        || Answer::envelope(json!({"code": "rate_limited", "error": "x", "retryAfter": 3}));
    let is_first = AtomicU32::new(1);
    tool.now(move || match is_first.swap(0, Ordering::SeqCst) {
        1 => Ok(refused()),
        _ => Ok(Answer::ok("deleted")),
    });
    let tools = stack(layer, 2, &lines).layer(tool.clone());

    assert_eq!(call(&tools, "delete").await.text(), "deleted");
    assert_eq!(tool.runs(), 2, "refused, so it may be made again");
}

#[tokio::test(start_paused = true)]
async fn the_tools_own_flagged_result_comes_back_untouched_through_the_breaker() {
    let (layer, _) = breaker(OPEN);
    let tool = Tool::new(|| Ok(Answer::flagged("no such book")));
    let tools = stack(layer, 1, &Lines::default()).layer(tool);
    assert_eq!(
        call(&tools, "search").await,
        Answer::flagged("no such book")
    );
}

#[tokio::test(start_paused = true)]
async fn panics_open_it_too() {
    let (layer, handle) = breaker(OPEN);
    let tool = Tool::new(|| panic!("it panics"));
    let tools = stack(layer, 1, &Lines::default()).layer(tool);
    for _ in 0..3 {
        assert!(call(&tools, "search").await.is_error);
    }
    assert!(handle.is_open());
}
