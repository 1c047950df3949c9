//! The circuit breaker of `tower-resilience`, in the place for layers of others.

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
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tower::{BoxError, Layer, Service, ServiceExt, layer::util::Stack, util::MapErrLayer};
use tower_resilience_circuitbreaker::{
    CircuitBreakerError, CircuitBreakerHandle, CircuitBreakerLayer, CircuitState, FailureClassifier,
};

/// Longer than any test runs.
const OPEN: Duration = Duration::from_secs(3600);

type Outcome = Result<Answer, BoxError>;

/// A tool that answers as it is told, and counts its runs.
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
        ready((self.answer.lock().unwrap())())
    }
}

/// Reads outcomes as the border does.
#[derive(Clone)]
struct AgainstServer(ClassifyLayer);

impl FailureClassifier<Answer, BoxError> for AgainstServer {
    fn classify(&self, outcome: &Outcome) -> bool {
        let failure = self.0.peek(outcome);
        failure.is_some_and(|failure| failure.speaks_against_server())
    }
}

fn breaker(
    open: Duration,
) -> (
    CircuitBreakerLayer<AgainstServer>,
    CircuitBreakerHandle<AgainstServer>,
) {
    CircuitBreakerLayer::builder()
        .consecutive_failures(3)
        .wait_duration_in_open(open)
        .permitted_calls_in_half_open(1)
        .failure_classifier_type(AgainstServer(ClassifyLayer::new()))
        .build_with_handle()
        .unwrap()
}

type ToFailure = fn(CircuitBreakerError<BoxError>) -> BoxError;

fn unwrap(error: CircuitBreakerError<BoxError>) -> BoxError {
    error.into_inner().unwrap_or_else(|| {
        let open = Failure::unavailable(Duration::from_secs(20).into());
        open.with_delivery(Delivery::NotSent).into()
    })
}

type Inside = Stack<
    CircuitBreakerLayer<AgainstServer>,
    Stack<MapErrLayer<ToFailure>, tower::layer::util::Identity>,
>;

fn stack(
    breaker: CircuitBreakerLayer<AgainstServer>,
    attempts: u32,
    lines: &Lines,
) -> ResilienceLayer<Inside> {
    ResilienceLayer::builder()
        .retry(
            RetryLayer::builder()
                .max_attempts(attempts)
                .build()
                .unwrap(),
        )
        .log(CallLogLayer::new(lines.clone()))
        .layer_inside(MapErrLayer::new(unwrap as ToFailure))
        .layer_inside(breaker)
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

    let calling = tokio::spawn(tools.oneshot(Call::tool("delete")));
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

    let classify = ClassifyLayer::new().rule(|_: &PoolExhausted| Some(Failure::tool("later")));
    let outcome: Outcome = Err(PoolExhausted.into());
    assert!(!AgainstServer(classify).classify(&outcome));
    assert!(AgainstServer(ClassifyLayer::new()).classify(&outcome));
}
