//! Which waits and attempts begin at the end of the retry window.

use super::{exact, fine, lost};
use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{
    Failure, ResilienceLayer,
    call::{Hints, ToolCall},
    call_log::CallLogLayer,
    classify::ClassifyLayer,
    failure::Stopped,
    is_error::IsErrorLayer,
    policy::{Policies, Policy},
    reconnect::ReconnectLayer,
    retry::RetryLayer,
};
use serde_json::json;
use std::{
    future::pending,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep_until};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

/// Takes a call at once, and the next one only 90 s after its making.
#[derive(Clone)]
struct BusyAfterOne {
    tool: Script,
    opens: Arc<Mutex<Pin<Box<Sleep>>>>,
}

impl BusyAfterOne {
    fn new(step: Result<Answer, BoxError>) -> Self {
        let opens = Box::pin(sleep_until(Instant::now() + 90 * SECOND));
        Self {
            tool: Script::timed([(40 * SECOND, step), (SECOND, Ok(fine()))]),
            opens: Arc::new(Mutex::new(opens)),
        }
    }
}

impl Service<Call> for BusyAfterOne {
    type Response = Answer;
    type Error = BoxError;
    type Future = <Script as Service<Call>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if self.tool.calls().is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.opens.lock().unwrap().as_mut().poll(cx).map(Ok)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        self.tool.call(call)
    }
}

fn refused() -> Answer {
    Answer::envelope(json!({"code": "rate_limited", "retryAfter": 2, "error": "its own words"}))
}

fn preset(lines: &Lines) -> ResilienceLayer {
    let log = CallLogLayer::new(lines.clone());
    ResilienceLayer::builder().log(log).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_repeat_that_waits_for_readiness_ends_with_the_window_and_the_tools_own_result() {
    let (lines, begun) = (Lines::default(), Instant::now());
    let service = BusyAfterOne::new(Ok(refused()));
    let tool = service.tool.clone();

    let answer = preset(&lines)
        .layer(service)
        .oneshot(Call::tool("pay"))
        .await;

    assert_eq!(begun.elapsed(), 55 * SECOND);
    assert_eq!(answer.unwrap(), refused(), "what failed the call");
    assert_eq!(tool.calls().len(), 1);
    let line = lines.only();
    assert_eq!(line["retry_stopped"], "window");
    assert_eq!(line["attempts"], 1, "the second did not begin");
}

#[tokio::test(start_paused = true)]
async fn a_repeat_that_waits_for_a_connection_ends_with_the_window() {
    let (lines, begun) = (Lines::default(), Instant::now());
    let lost = Failure::connection("cut off").before_running();
    let tool = Script::timed([(40 * SECOND, Err(lost.into()))]);
    let first = Arc::new(Mutex::new(Some(tool.clone())));
    let connector = service_fn(move |()| {
        let first = first.lock().unwrap().take();
        async move {
            match first {
                Some(tool) => Ok::<_, BoxError>(tool),
                None => pending().await,
            }
        }
    });
    let reconnect = ReconnectLayer::builder(())
        .ready_timeout(50 * SECOND)
        .build()
        .unwrap();
    let (stack, _handle) = preset(&lines).connect(&reconnect, connector);

    let answer = stack.oneshot(Call::tool("pay")).await.unwrap();

    assert_eq!(begun.elapsed(), 55 * SECOND);
    assert!(answer.is_error);
    assert!(format!("{answer:?}").contains("cut off"), "{answer:?}");
    assert_eq!(tool.calls().len(), 1);
    let line = lines.only();
    assert_eq!(line["retry_stopped"], "window");
    assert_eq!(line["attempts"], 1);
}

#[tokio::test(start_paused = true)]
async fn the_tools_own_result_stays_until_a_further_attempt_is_answered() {
    let service = BusyAfterOne::new(Ok(refused()));
    let retry = exact()
        .build()
        .unwrap()
        .layer(ClassifyLayer::new().layer(service));
    let stack = IsErrorLayer::new().layer(retry);
    let answer = stack.oneshot(Call::tool("pay")).await;
    assert_eq!(answer.unwrap(), refused());
}

#[tokio::test(start_paused = true)]
async fn a_policy_without_a_deadline_keeps_the_retry_window() {
    let begins = |policy: Policy| async {
        let tool = Script::timed([(60 * SECOND, lost()), (SECOND, Ok(fine()))]);
        let retry = exact().policies(Policies::new().tool("look", policy));
        let stack = retry.build().unwrap().layer(tool.clone());
        let outcome = stack.oneshot(Call::read_only("look")).await;
        (
            tool.calls().len(),
            outcome.err().and_then(|failure| failure.stopped()),
        )
    };
    let window = (1, Some(Stopped::Window));
    assert_eq!(begins(Policy::new().no_deadline()).await, window);
    assert_eq!(
        begins(Policy::new().no_deadline().no_retry_window()).await,
        (2, None)
    );
}

/// A tool whose hints change.
#[derive(Clone, Debug)]
struct Changing(Arc<AtomicBool>);

impl ToolCall for Changing {
    fn name(&self) -> &'static str {
        "pay"
    }

    fn hints(&self) -> Hints {
        Hints::new().read_only(!self.0.load(SeqCst))
    }
}

#[tokio::test(start_paused = true)]
async fn hints_that_change_take_back_the_policy_that_was_chosen_by_them() {
    let (writes, ran) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU32::new(0)),
    );
    let tool = service_fn({
        let (writes, ran) = (Arc::clone(&writes), Arc::clone(&ran));
        move |_: Changing| {
            ran.fetch_add(1, SeqCst);
            writes.store(true, SeqCst);
            async { Err::<Answer, _>(Failure::connection("cut off")) }
        }
    });
    let policies = Policies::new().hinted(Hints::is_read_only, Policy::new().repeat_ok(true));
    let stack = exact().policies(policies).build().unwrap().layer(tool);
    let failure = stack.oneshot(Changing(writes)).await.unwrap_err();
    assert_eq!(failure.stopped(), Some(Stopped::MayHaveRun));
    assert_eq!(ran.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn tools_that_never_succeed_again_do_not_keep_the_shares_of_others() {
    let retry = RetryLayer::builder().budget(0.2, 1).max_attempts(2);
    let at_once = || std::iter::repeat(Duration::ZERO);
    let retry = retry.policy(Policy::new().waits(at_once)).build().unwrap();
    let attempts = async |name: String| {
        let tool = Script::new([lost(), lost()]);
        let stack = retry.layer(tool.clone());
        stack.oneshot(Call::read_only(&name)).await.unwrap_err();
        tool.calls().len()
    };
    for tool in 0..400 {
        attempts(format!("gone {tool}")).await;
    }
    tokio::time::advance(61 * SECOND).await;
    for tool in 0..20 {
        assert_eq!(attempts(format!("new {tool}")).await, 2, "{tool}");
    }
    // Only so many in a while: the names come from callers.
    for tool in 0..400 {
        attempts(format!("guessed {tool}")).await;
    }
    assert_eq!(attempts("one more".to_owned()).await, 1);
}
