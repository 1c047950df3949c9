//! When a call is repeated, and after which wait.
#![allow(clippy::large_stack_arrays, reason = "a table of cases")]

mod gate;
mod last_word;
mod window;
mod word;

use crate::support::{Answer, Call, Script, Strict};
use mcp_resilience::{
    Class, Delivery, Failure,
    backoff::{Backoff, Jitter},
    call::{Hints, ToolCall},
    failure::Stopped,
    policy::Policy,
    policy::Problem,
    retry::{RetryBuilder, RetryLayer},
};
use std::{
    collections::VecDeque,
    iter,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, advance, sleep, timeout};
use tower::{BoxError, Layer, Service, ServiceExt, retry::budget::Budget, service_fn};

pub(crate) const MS: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) type Outcome = Result<Answer, BoxError>;

fn lost() -> Outcome {
    Err(Failure::connection("reset by peer").into())
}

pub(crate) fn busy(wait: impl Into<Option<Duration>>) -> Outcome {
    Err(Failure::rate_limited(wait.into()).before_running().into())
}

pub(crate) fn fine() -> Answer {
    Answer::ok("fine")
}

pub(crate) fn always(step: impl FnMut() -> Outcome) -> Script {
    Script::new(iter::repeat_with(step).take(20))
}

/// Exact waits of 1, 2, 4, … s, and no budget.
pub(crate) fn exact() -> RetryBuilder {
    RetryLayer::builder()
        .jitter(Jitter::none())
        .policy(Policy::new().no_budget())
}

pub(crate) async fn make(
    retry: RetryBuilder,
    tool: &Script,
    call: Call,
) -> Result<Answer, Failure> {
    let retry = retry.build().unwrap();
    retry.layer(Strict::new(tool.clone())).oneshot(call).await
}

pub(crate) async fn fail(retry: RetryBuilder, tool: &Script, call: Call) -> Failure {
    make(retry, tool, call).await.unwrap_err()
}

pub(crate) fn times(tool: &Script) -> Vec<u128> {
    tool.calls().iter().map(Duration::as_millis).collect()
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_with_the_first_and_each_is_made_on_an_instance_made_ready() {
    let cases = [
        (exact().max_attempts(1), 1),
        (exact().max_attempts(2), 2),
        (exact(), 3),
        (RetryLayer::builder(), 3),
        (
            exact()
                .max_attempts(7)
                .policy(Policy::new().no_retry_window()),
            7,
        ),
    ];
    for (retry, attempts) in cases {
        let tool = always(lost);
        let failure = fail(retry, &tool, Call::read_only("get_book")).await;
        assert_eq!(tool.calls().len(), attempts as usize);
        assert_eq!(failure.attempts(), attempts);
        assert_eq!(failure.waits().len(), attempts as usize - 1);
        assert_eq!(failure.stopped(), Some(Stopped::Attempts), "{attempts}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_hangs_is_cut_off_at_the_deadline_to_the_millisecond() {
    let hangs = || (HOUR, Ok(fine()));
    let cases = [
        ("the first", vec![hangs()], 1, vec![]),
        (
            "a later one",
            vec![(SECOND, lost()), hangs()],
            2,
            vec![SECOND],
        ),
    ];
    for (case, steps, attempts, waits) in cases {
        let (begun, tool) = (Instant::now(), Script::timed(steps));
        let retry = exact().deadline(5 * SECOND);
        let failure = fail(retry, &tool, Call::read_only("get_book")).await;
        assert_eq!(begun.elapsed(), 5 * SECOND, "{case}");
        assert_eq!(failure.class(), Class::Timeout, "{case}");
        assert_eq!(failure.delivery(), Delivery::Unknown, "{case}");
        assert_eq!(failure.stopped(), Some(Stopped::Deadline), "{case}");
        assert_eq!(failure.attempts(), attempts, "{case}");
        assert_eq!(failure.waits(), waits, "{case}");
    }
    let tool = Script::timed([hangs()]);
    let answer = make(
        exact().policy(Policy::new().no_deadline()),
        &tool,
        Call::tool("export"),
    )
    .await;
    answer.expect("without a deadline only the tool ends an attempt");
}

#[tokio::test(start_paused = true)]
async fn no_attempt_is_sent_after_the_retry_window_also_where_the_machine_slept_through_the_wait() {
    let tool = Script::new([busy(SECOND), Ok(fine())]);
    let call = tokio::spawn({
        let tool = tool.clone();
        async move { make(exact(), &tool, Call::tool("reserve")).await }
    });
    sleep(MS).await;
    advance(HOUR).await;
    let failure = call.await.unwrap().unwrap_err();
    assert_eq!(failure.stopped(), Some(Stopped::Window));
    assert_eq!(
        failure.class(),
        Class::RateLimited,
        "what it failed of is known"
    );
    assert_eq!(times(&tool), [0]);
}

/// Ready at first, then as scripted.
#[derive(Clone)]
struct Moody(Script, Arc<Mutex<VecDeque<Result<(), Failure>>>>);

impl Service<Call> for Moody {
    type Response = Answer;
    type Error = BoxError;
    type Future = <Script as Service<Call>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let Some(step) = self.1.lock().unwrap().pop_front() else {
            return Poll::Pending;
        };
        Poll::Ready(step.map_err(Into::into))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        self.0.call(call)
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_not_ready_again_leaves_the_failure_that_is_known() {
    let broken = Some(Err(Failure::disabled("closed")));
    let fatal = Some(Err(Failure::fatal("gone")));
    #[rustfmt::skip]
    let cases = [
        ("an error", broken, "reset by peer", Stopped::NotReady, SECOND),
        ("a fatal error", fatal, "gone", Stopped::NotReady, SECOND),
        ("never ready", None, "reset by peer", Stopped::Window, 55 * SECOND),
    ];
    for (case, unready, message, stopped, end) in cases {
        let (begun, tool) = (Instant::now(), Script::new([lost()]));
        let steps = iter::once(Ok(())).chain(unready).collect();
        let service = Moody(tool.clone(), Arc::new(Mutex::new(steps)));
        let tools = exact().build().unwrap().layer(service);
        let call = tools.oneshot(Call::read_only("get_book"));
        let failure = timeout(HOUR, call).await.unwrap().unwrap_err();
        assert_eq!(failure.to_string(), message, "{case}");
        assert_eq!(failure.stopped(), Some(stopped), "{case}");
        assert_eq!(failure.attempts(), 1, "{case}: the second was never made");
        assert_eq!(begun.elapsed(), end, "{case}");
        assert_eq!(times(&tool), [0], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_gate_opens_only_to_a_call_that_did_not_run_or_may_run_twice() {
    use Class as C;
    use Delivery::{Executed, NotSent, Refused, Unknown};
    const YES: Option<bool> = Some(true);
    const NO: Option<bool> = Some(false);
    let idempotent = Call {
        hints: Hints::new().idempotent(true),
        ..Call::tool("t")
    };
    let plain = || (Call::tool("t"), exact());
    let read_only = || (Call::read_only("t"), exact());
    let idempotent = || (idempotent.clone(), exact());
    let distrusted = || (Call::read_only("t"), exact().distrust_server());
    let allowed = || {
        (
            Call::tool("t"),
            exact().distrust_server().repeat_ok(|_| YES),
        )
    };
    let of = |tool, word| exact().repeat_ok(move |name| (name == tool).then_some(word));
    let forbidden = || (Call::read_only("t"), of("t", false));
    let other = || (Call::tool("t"), of("other", true));
    let may_have_run = Some(Stopped::MayHaveRun);
    // The failure's class, delivery and `retryable`, the call; whether it is repeated, or else
    // why it stopped.
    #[rustfmt::skip]
    let cases = [
        ("not sent", C::Connection, NotSent, None, plain(), Ok(())),
        ("not sent, forbidden", C::Connection, NotSent, None, forbidden(), Ok(())),
        ("not sent, no", C::Connection, NotSent, NO, read_only(), Err(None)),
        ("lost", C::Connection, Unknown, None, plain(), Err(may_have_run)),
        ("lost, read-only", C::Connection, Unknown, None, read_only(), Ok(())),
        ("lost, idempotent", C::Connection, Unknown, None, idempotent(), Ok(())),
        ("lost, distrusted", C::Connection, Unknown, None, distrusted(), Err(may_have_run)),
        ("lost, allowed", C::Connection, Unknown, None, allowed(), Ok(())),
        ("lost, forbidden", C::Connection, Unknown, None, forbidden(), Err(may_have_run)),
        ("lost, other allowed", C::Connection, Unknown, None, other(), Err(may_have_run)),
        ("lost, forbidden, yes", C::Connection, Unknown, YES, forbidden(), Err(may_have_run)),
        ("late", C::Timeout, Unknown, None, plain(), Err(may_have_run)),
        ("late, read-only", C::Timeout, Unknown, None, read_only(), Ok(())),
        ("session", C::SessionLost, Refused, None, plain(), Ok(())),
        ("busy", C::RateLimited, Refused, None, plain(), Ok(())),
        ("busy, distrusted", C::RateLimited, Refused, None, distrusted(), Err(may_have_run)),
        ("not sent, distrusted", C::Connection, NotSent, None, distrusted(), Ok(())),
        ("busy, ran", C::RateLimited, Executed, None, plain(), Err(may_have_run)),
        ("busy, no", C::RateLimited, Refused, NO, allowed(), Err(None)),
        ("full", C::AtCapacity, Refused, None, plain(), Ok(())),
        ("away", C::Unavailable, Refused, None, plain(), Ok(())),
        ("upstream", C::Upstream, Executed, None, plain(), Err(may_have_run)),
        ("upstream, yes", C::Upstream, Executed, YES, plain(), Ok(())),
        ("upstream, idempotent", C::Upstream, Executed, None, idempotent(), Ok(())),
        ("tool, read-only", C::Tool, Executed, None, read_only(), Err(None)),
        ("tool, yes", C::Tool, Executed, YES, plain(), Ok(())),
        ("arguments", C::InvalidInput, Refused, YES, allowed(), Err(None)),
        ("blocked", C::Blocked, Refused, YES, allowed(), Err(None)),
        ("missing", C::NotFound, NotSent, YES, allowed(), Err(None)),
        ("credentials", C::Unauthorized, Refused, YES, allowed(), Err(None)),
        ("refused", C::Forbidden, Refused, YES, allowed(), Err(None)),
        ("off", C::Disabled, Refused, YES, allowed(), Err(None)),
        ("answer", C::InvalidOutput, Executed, YES, allowed(), Err(None)),
        ("protocol", C::Protocol, Refused, YES, allowed(), Err(None)),
        ("crash", C::Crash, Unknown, YES, allowed(), Err(None)),
        ("cancelled", C::Cancelled, NotSent, YES, allowed(), Err(None)),
        ("fatal", C::Fatal, NotSent, YES, allowed(), Err(None)),
    ];
    for (case, class, delivery, retryable, (call, retry), expected) in cases {
        // A wait alone never makes anything repeatable, so there may be one in each of them.
        let failure = Failure::new(class, case)
            .with_delivery(delivery)
            .with_retryable(retryable)
            .with_retry_after(SECOND);
        let tool = Script::new([Err(failure.into()), Ok(fine())]);
        let outcome = make(retry, &tool, call).await;
        let stopped = outcome.map(drop).map_err(|failure| failure.stopped());
        assert_eq!(stopped, expected, "{case}");
        let calls = if expected.is_ok() { 2 } else { 1 };
        assert_eq!(tool.calls().len(), calls, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_user_permits_a_repeat_of_a_call_that_a_distrusted_server_may_have_run() {
    let failure = Failure::upstream("again, please").with_retryable(true);
    let tool = Script::new([Err(failure.into()), Ok(fine())]);
    let outcome = make(exact().distrust_server(), &tool, Call::tool("pay")).await;
    assert_eq!(times(&tool), [0]);
    assert_eq!(outcome.unwrap_err().stopped(), Some(Stopped::MayHaveRun));
}

#[tokio::test(start_paused = true)]
async fn the_failure_that_goes_up_is_the_last_with_the_history_of_all() {
    let steps = ["one", "two", "three"].map(|text| Err(Failure::connection(text).into()));
    let failure = fail(exact(), &Script::new(steps), Call::read_only("get_book")).await;
    assert_eq!(failure.to_string(), "three");
    assert_eq!(failure.attempts(), 3);
    assert_eq!(failure.waits(), [SECOND, 2 * SECOND]);
}

#[tokio::test(start_paused = true)]
async fn stacked_retries_do_not_multiply_and_the_inner_count_goes_up() {
    let cases: [(fn() -> Outcome, _, _); 3] = [
        (|| busy(None), Stopped::Attempts, 3),
        (lost, Stopped::MayHaveRun, 1),
        (|| busy(HOUR), Stopped::HintTooLong, 1),
    ];
    for (step, stopped, attempts) in cases {
        let tool = always(step);
        let retry = exact().build().unwrap();
        let tools = retry.layer(retry.layer(Strict::new(tool.clone())));
        let failure = tools.oneshot(Call::tool("reserve")).await.unwrap_err();
        assert_eq!(tool.calls().len(), attempts as usize, "{stopped}");
        assert_eq!(failure.stopped(), Some(stopped));
        assert_eq!(failure.attempts(), attempts, "{stopped}");
    }
}

/// How many of this many failing calls were repeated, each at most once, in almost no time.
async fn repeats(retry: &RetryLayer, calls: u32) -> u32 {
    let mut repeats = 0;
    for _ in 0..calls {
        // A new service each time, and a clone, because the budget belongs to the layer.
        let tools = retry.layer(always(|| busy(None))).clone();
        let failure = tools.oneshot(Call::tool("reserve")).await.unwrap_err();
        match failure.stopped() {
            Some(Stopped::Attempts) => repeats += 1,
            stopped => assert_eq!(stopped, Some(Stopped::Budget)),
        }
    }
    repeats
}

async fn successes(retry: &RetryLayer, calls: u32) {
    for _ in 0..calls {
        let tools = retry.layer(Script::new([Ok(fine())]));
        tools.oneshot(Call::tool("reserve")).await.unwrap();
    }
}

fn quick() -> RetryBuilder {
    let backoff = Backoff::new(MS, MS).unwrap();
    RetryLayer::builder().backoff(backoff).max_attempts(2)
}

#[tokio::test(start_paused = true)]
async fn in_an_outage_ten_repeats_pass_and_time_and_successes_pay_for_more() {
    let retry = quick().build().unwrap();
    assert_eq!(repeats(&retry, 50).await, 10, "1 a second, 10 s at once");
    successes(&retry, 4).await;
    assert_eq!(repeats(&retry, 5).await, 0, "20 % of 4");
    successes(&retry, 1).await;
    assert_eq!(repeats(&retry, 5).await, 1, "20 % of 5");
    advance(3 * SECOND).await;
    assert_eq!(repeats(&retry, 50).await, 3, "after 3 s");
    advance(HOUR).await;
    assert_eq!(repeats(&retry, 50).await, 10, "after an hour");
    let other = quick().build().unwrap();
    assert_eq!(repeats(&other, 50).await, 10, "each layer has its own");
    let none = quick().policy(Policy::new().no_budget()).build().unwrap();
    assert_eq!(repeats(&none, 50).await, 50, "no budget");
}

#[tokio::test(start_paused = true)]
async fn a_share_pays_for_that_share_of_the_calls_that_succeed() {
    for (share, expected) in [(0.0, 0), (0.1, 2), (0.25, 5), (0.4, 8), (0.5, 10)] {
        let retry = quick().budget(share, 0).build().unwrap();
        repeats(&retry, 50).await;
        successes(&retry, 20).await;
        assert_eq!(repeats(&retry, 50).await, expected, "{share} of 20");
    }
}

#[tokio::test(start_paused = true)]
async fn a_budget_without_a_number_a_second_has_nothing_to_spend_at_first() {
    let retry = quick().budget(0.2, 0).build().unwrap();
    assert_eq!(repeats(&retry, 50).await, 0);
}

/// Counts what is deposited and withdrawn.
#[derive(Debug, Default)]
struct Purse(AtomicU32, AtomicU32);

impl Budget for Purse {
    fn deposit(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    fn withdraw(&self) -> bool {
        self.1.fetch_add(1, Relaxed);
        true
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_spends_nothing_and_only_success_pays() {
    let cases = [
        ("success", vec![Ok(fine())], (1, 0)),
        ("may have run", vec![lost()], (0, 0)),
        ("does not fit", vec![busy(MINUTE)], (0, 0)),
        ("too long", vec![busy(HOUR)], (0, 0)),
        ("repeated", vec![busy(None), Ok(fine())], (1, 1)),
        (
            "exhausted",
            vec![busy(None), busy(None), busy(None)],
            (0, 2),
        ),
    ];
    for (case, steps, expected) in cases {
        let purse = Arc::new(Purse::default());
        let retry = exact().shared_budget(Arc::clone(&purse));
        let _ = make(retry, &Script::new(steps), Call::tool("reserve")).await;
        let counted = (purse.0.load(Relaxed), purse.1.load(Relaxed));
        assert_eq!(counted, expected, "{case}: deposits, withdrawals");
    }
}

/// A call that counts its clones.
struct Costly(Arc<AtomicU32>);

impl Clone for Costly {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl ToolCall for Costly {
    fn name(&self) -> &'static str {
        "upload"
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_cloned_only_for_an_attempt_that_may_follow() {
    for attempts in [1, 2, 3, 5] {
        let clones = Arc::new(AtomicU32::new(0));
        let tool = service_fn(async |_: Costly| {
            Err::<Answer, _>(Failure::rate_limited(None).before_running())
        });
        let tools = exact().max_attempts(attempts).build().unwrap().layer(tool);
        let failure = tools
            .oneshot(Costly(Arc::clone(&clones)))
            .await
            .unwrap_err();
        assert_eq!(failure.attempts(), attempts);
        assert_eq!(clones.load(Relaxed), attempts - 1, "the last moves it");
    }
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_failed_attempt_stays_until_a_further_one_is_answered() {
    let results = [Arc::new("long"), Arc::new("long")];
    let held = results.each_ref().map(Arc::downgrade);
    let tool = Script::new(results.map(|result| {
        let failure = Failure::rate_limited(None)
            .before_running()
            .with_result(result);
        Err(failure.into())
    }));
    let tools = exact().max_attempts(2).build().unwrap().layer(tool);
    let waiting = tokio::spawn(tools.oneshot(Call::tool("report")));
    sleep(500 * MS).await;
    let is_held = held.each_ref().map(|result| result.upgrade().is_some());
    assert_eq!(is_held, [true, true]);
    let mut failure = waiting.await.unwrap().unwrap_err();
    assert!(failure.take_result::<Arc<&str>>().is_some());
    assert!(held[0].upgrade().is_none());
}

#[test]
fn settings_that_cannot_work_are_refused_when_built_and_the_reason_says_what_to_do() {
    let settings = RetryLayer::builder;
    #[rustfmt::skip]
    let cases = [
        (settings().max_attempts(0), "`max_attempts` is 0: a call is made at least once, and 1 means no repeat"),
        (settings().deadline(Duration::ZERO), "`deadline` is zero: give calls some time, or use `no_deadline`"),
        (settings().budget(f32::NAN, 1), "a retry `budget` of NaN of the calls: give a share between 0 and 1, or use `no_budget`"),
        (settings().budget(-0.1, 1), "a retry `budget` of -0.1 of the calls: give a share between 0 and 1, or use `no_budget`"),
        (settings().budget(1.1, 1), "a retry `budget` of 1.1 of the calls: give a share between 0 and 1, or use `no_budget`"),
        (settings().budget(f32::INFINITY, 1), "a retry `budget` of inf of the calls: give a share between 0 and 1, or use `no_budget`"),
    ];
    for (settings, message) in cases {
        assert_eq!(settings.build().unwrap_err().to_string(), message);
    }
    let refused = settings().max_attempts(0).build().unwrap_err();
    assert_eq!(refused.problem(), Problem::NoAttempts);
    for (share, floor) in [(0.0, 0), (1.0, u32::MAX), (f32::MIN_POSITIVE, 1)] {
        let layer = settings().budget(share, floor).build();
        assert!(layer.is_ok(), "{share}, {floor}");
    }
}
