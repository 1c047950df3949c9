//! A policy for one tool, and that it changes nothing for other tools.

mod alike;
mod budget;
mod options;

use crate::support::{Answer, Call, Script};
use crate::timeout::{Slow, reports};
use mcp_resilience::{
    Failure, ResilienceLayer,
    backoff::{Backoff, Jitter},
    call::{Hints, Method},
    call_log::CallLogLayer,
    policy::{Policies, Policy, Problem},
    retry::{RetryBuilder, RetryLayer},
    timeout::TimeoutLayer,
};
use std::time::Duration;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service, ServiceExt};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) fn exact() -> RetryBuilder {
    RetryLayer::builder()
        .jitter(Jitter::none())
        .policy(Policy::new().no_budget())
}

fn lost() -> Result<Answer, BoxError> {
    Err(Failure::connection("reset by peer").into())
}

/// How often a call is made that never gets an answer.
async fn attempts(policies: &Policies, call: Call) -> usize {
    let tool = Script::new(std::iter::repeat_with(lost).take(20));
    let retry = exact().policies(policies.clone()).build().unwrap();
    let _ = retry.layer(tool.clone()).oneshot(call).await;
    tool.calls().len()
}

#[tokio::test(start_paused = true)]
async fn the_policy_of_a_name_goes_before_the_first_rule_that_fits() {
    let times = |attempts| Policy::new().max_attempts(attempts);
    let policies = Policies::new()
        .when(|call| call.name().starts_with("get_"), times(4))
        .tool("get_book", times(1))
        .hinted(Hints::is_read_only, times(2))
        .when(|call| call.method() == Method::GetPrompt, times(5))
        .tool("get_author", times(7))
        .tool("get_author", times(6));
    let hinted = |mut call: Call| {
        call.hints = Hints::new().read_only(true);
        call
    };
    #[rustfmt::skip]
    let cases = [
        ("by name", Call::read_only("get_book"), 1),
        ("the later of two", Call::read_only("get_author"), 6),
        ("the first rule", Call::read_only("get_price"), 4),
        ("the second rule", Call::read_only("look"), 2),
        ("a resource has no tool's policy", hinted(Call::resource("get_book")), 4),
        ("a prompt has no tool's policy", hinted(Call::prompt("get_book")), 4),
        ("none", Call { hints: Hints::new().idempotent(true), ..Call::tool("put") }, 3),
    ];
    for (case, call, expected) in cases {
        assert_eq!(attempts(&policies, call).await, expected, "{case}");
    }
    let names: Vec<_> = policies.tool_names().collect();
    assert_eq!(names, ["get_book", "get_author"]);
}

#[tokio::test(start_paused = true)]
async fn repeat_ok_of_a_policy_has_precedence() {
    let policies = |word| Policies::new().tool("pay", Policy::new().repeat_ok(word));
    assert_eq!(attempts(&policies(true), Call::tool("pay")).await, 3);
    assert_eq!(attempts(&policies(false), Call::read_only("pay")).await, 1);
    assert_eq!(attempts(&policies(true), Call::tool("book")).await, 1);

    let tool = Script::new([lost(), Ok(Answer::ok("fine"))]);
    let retry = exact().repeat_ok(|_| Some(false)).policies(policies(true));
    let retry = retry.build().unwrap().layer(tool);
    assert!(retry.oneshot(Call::tool("pay")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_tool_has_more_time_than_the_others() {
    let policies = Policies::new()
        .tool("export", Policy::new().attempt_timeout(HOUR))
        .tool("ping", Policy::new().deadline(2 * SECOND));
    let layer = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .attempt_timeout(30 * SECOND)
        .policies(policies)
        .build()
        .unwrap();
    for (tool, end) in [
        ("export", HOUR),
        ("ping", 2 * SECOND),
        ("other", 30 * SECOND),
    ] {
        let begun = Instant::now();
        let stack = layer.layer(Script::timed([(24 * HOUR, Ok(Answer::ok("late")))]));
        let answer = stack.oneshot(Call::tool(tool)).await.unwrap();
        assert!(answer.is_error);
        assert_eq!(begun.elapsed(), end, "{tool}");
    }
}

/// How many attempts a layer makes of a call that may run again, and until when.
async fn made<L>(layer: &L, call: Call) -> (usize, Duration)
where
    L: Layer<Script>,
    L::Service: Service<Call>,
{
    let tool = Script::new((0..9).map(|_| lost()));
    let begun = Instant::now();
    drop(layer.layer(tool.clone()).oneshot(call).await);
    (tool.calls().len(), begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn one_policy_holds_for_every_call_of_a_layer_and_those_of_tools_go_before_it() {
    let backoff = Backoff::new(SECOND, SECOND).unwrap();
    let policy = Policy::new()
        .max_attempts(4)
        .backoff(backoff)
        .repeat_ok(true);
    let of_tool = || Policies::new().tool("pay", Policy::new().repeat_ok(false));
    let retry = || RetryLayer::builder().jitter(Jitter::none());
    let alone = retry()
        .policy(policy.clone())
        .policies(of_tool())
        .build()
        .unwrap();
    let preset = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .retry(retry().max_attempts(2).build().unwrap())
        .policy(policy)
        .policies(of_tool())
        .build()
        .unwrap();
    for (name, expected) in [("look", (4, 3 * SECOND)), ("pay", (1, Duration::ZERO))] {
        assert_eq!(made(&alone, Call::tool(name)).await, expected, "{name}");
        assert_eq!(
            made(&preset, Call::tool(name)).await,
            expected,
            "{name}, preset"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_preset_takes_the_policies_of_its_retry_layer_unless_it_has_some() {
    let limit = |limit| Policies::new().tool("t", Policy::new().attempt_timeout(limit));
    let retry = || exact().policies(limit(2 * SECOND)).build().unwrap();
    let settings = || {
        ResilienceLayer::builder()
            .log(CallLogLayer::off())
            .retry(retry())
    };
    for (settings, end) in [(settings(), 2), (settings().policies(limit(3 * SECOND)), 3)] {
        let begun = Instant::now();
        let stack = settings.build().unwrap();
        let stack = stack.layer(Script::timed([(HOUR, Ok(Answer::ok("late")))]));
        assert!(stack.oneshot(Call::tool("t")).await.unwrap().is_error);
        assert_eq!(begun.elapsed(), end * SECOND);
    }
}

#[test]
fn a_policy_that_cannot_work_is_refused_when_built_and_the_error_names_tool_and_setting() {
    let tool = |policy| Policies::new().tool("export", policy);
    let retry = |policy| exact().deadline(10 * SECOND).policies(tool(policy)).build();
    let preset = |policy| {
        let settings = ResilienceLayer::builder().log(CallLogLayer::off());
        settings
            .policy(Policy::new().ceiling(10 * SECOND))
            .policies(tool(policy))
            .build()
    };
    let zero = Duration::ZERO;
    let cases = [
        (
            retry(Policy::new().max_attempts(0)).err(),
            "`max_attempts` is 0",
        ),
        (
            retry(Policy::new().deadline(zero)).err(),
            "`deadline` is zero",
        ),
        (
            retry(Policy::new().retry_window(zero)).err(),
            "`retry_window` is zero",
        ),
        (
            retry(Policy::new().budget(2.0, 1)).err(),
            "a retry `budget` of 2",
        ),
        (
            retry(Policy::new().attempt_timeout(11 * SECOND)).err(),
            "`attempt_timeout` (11s) is longer than `deadline` (10s)",
        ),
        (
            retry(Policy::new().retry_window(11 * SECOND)).err(),
            "`retry_window` (11s) is longer than `deadline` (10s)",
        ),
        (
            preset(Policy::new().attempt_timeout(zero)).err(),
            "`attempt_timeout` is zero",
        ),
        (
            preset(Policy::new().ceiling(zero)).err(),
            "`ceiling` is zero",
        ),
        (
            preset(Policy::new().attempt_timeout(11 * SECOND)).err(),
            "`attempt_timeout` (11s) is longer than `ceiling` (10s)",
        ),
        (
            preset(Policy::new().deadline(11 * SECOND)).err(),
            "`deadline` (11s) is longer than `ceiling` (10s)",
        ),
    ];
    for (error, beginning) in cases {
        let error = error.expect(beginning).to_string();
        let beginning = format!("in the policy for tool `export`: {beginning}");
        assert!(error.starts_with(&beginning), "{error}");
    }
    let second = Policies::new()
        .when(|_| true, Policy::new())
        .when(|_| true, Policy::new().max_attempts(0));
    let error = exact().policies(second).build().unwrap_err();
    assert_eq!(error.problem(), Problem::NoAttempts);
    assert!(error.to_string().starts_with("in the policy for rule 2: "));
    let zero = tool(Policy::new().attempt_timeout(zero));
    assert!(
        TimeoutLayer::builder(SECOND)
            .policies(zero)
            .build()
            .is_err()
    );
}

#[test]
fn a_setting_of_the_layer_gives_way_to_one_of_a_policy() {
    let backoff = Backoff::new(SECOND, SECOND).unwrap();
    let policy = Policy::new().deadline(5 * SECOND).backoff(backoff);
    let policies = Policies::new()
        .tool("ping", policy)
        .tool("short", Policy::new().ceiling(SECOND))
        .tool("long", Policy::new().no_deadline().attempt_timeout(HOUR));
    let retry = exact().retry_window(30 * SECOND).deadline(120 * SECOND);
    let layer = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .attempt_timeout(60 * SECOND)
        .retry(retry.build().unwrap())
        .policies(policies);
    assert!(layer.build().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_ceiling_of_a_policy_bounds_its_attempts_also_below_the_deadline_of_the_layer() {
    let policies = Policies::new().tool("print_catalog", Policy::new().ceiling(20 * SECOND));
    let retry = exact()
        .deadline(60 * SECOND)
        .max_attempts(1)
        .build()
        .unwrap();
    let layer = ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .attempt_timeout(10 * SECOND)
        .retry(retry)
        .policies(policies);
    let stack = layer
        .build()
        .unwrap()
        .layer(tower::service_fn(|call: Slow| async move {
            Ok::<_, BoxError>(reports(call.progress.ticker(), 100, SECOND, HOUR).await)
        }));
    let begun = Instant::now();
    assert!(stack.oneshot(Slow::default()).await.unwrap().is_error);
    assert_eq!(begun.elapsed(), 20 * SECOND);
}
