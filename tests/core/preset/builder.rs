//! The preset's settings: which are refused, and the defaults.

use crate::support::{Answer, Call, Lines, Script, in_a_child, is_the_child};
use mcp_resilience::{
    Failure, ResilienceLayer,
    backoff::Jitter,
    call_log::{CallLogLayer, Record, Sink},
    classify::ClassifyLayer,
    fatal::{Fatal, FatalLayer},
    is_error::IsErrorLayer,
    policy::Policy,
    policy::Problem,
    preset::ResilienceBuilder,
    retry::{RetryBuilder, RetryLayer},
};
use serde_json::json;
use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

fn settings() -> ResilienceBuilder {
    ResilienceLayer::builder().log(CallLogLayer::off())
}

fn retry(settings: RetryBuilder) -> RetryLayer {
    settings.build().unwrap()
}

#[test]
fn settings_that_cannot_work_are_refused_and_the_reason_says_what_to_do() {
    let short = || retry(RetryLayer::builder().deadline(2 * SECOND));
    let no_time = Duration::ZERO;
    #[rustfmt::skip]
    let cases = [
        (settings().attempt_timeout(no_time), Problem::ZeroAttemptTimeout,
            "`attempt_timeout` is zero: give an attempt some time"),
        (settings().policy(Policy::new().ceiling(no_time)), Problem::ZeroCeiling,
            "`ceiling` is zero: give an attempt some time"),
        (settings().attempt_timeout(3 * SECOND).retry(short()),
            Problem::AttemptBeyondDeadline { limit: 3 * SECOND, deadline: 2 * SECOND },
            "`attempt_timeout` (3s) is longer than `deadline` (2s), the limit of the whole call: raise the deadline, or lower the attempt timeout"),
        (settings().attempt_timeout(3 * SECOND).policy(Policy::new().ceiling(2 * SECOND)),
            Problem::AttemptBeyondCeiling { limit: 3 * SECOND, ceiling: 2 * SECOND },
            "`attempt_timeout` (3s) is longer than `ceiling` (2s), the longest that an attempt may take with progress: raise the ceiling, or lower the attempt timeout"),
        (settings().policy(Policy::new().ceiling(SECOND)).retry(short()),
            Problem::DeadlineBeyondCeiling { deadline: 2 * SECOND, ceiling: SECOND },
            "`deadline` (2s) is longer than `ceiling` (1s), the longest that a call may take with progress: raise the ceiling, or lower the deadline"),
    ];
    for (settings, problem, message) in cases {
        let refused = settings.build().unwrap_err();
        assert_eq!(refused.problem(), problem);
        assert_eq!(refused.to_string(), message);
    }
    let no_deadline = || retry(RetryLayer::builder().policy(Policy::new().no_deadline()));
    for settings in [
        settings().attempt_timeout(55 * SECOND),
        settings().attempt_timeout(2 * SECOND).retry(short()),
        settings().attempt_timeout(2 * HOUR),
        settings().attempt_timeout(HOUR).retry(no_deadline()),
        settings()
            .policy(Policy::new().ceiling(2 * SECOND))
            .retry(short()),
        settings().policy(Policy::new().ceiling(SECOND)),
        settings().retry(short()),
    ] {
        assert!(settings.build().is_ok());
    }
}

/// How long an unanswered call takes that may not be repeated.
async fn hangs(layer: &ResilienceLayer) -> Duration {
    let begun = Instant::now();
    let stack = layer.layer(Script::timed([(24 * HOUR, Ok(Answer::ok("late")))]));
    let answer = stack.oneshot(Call::tool("pay")).await.unwrap();
    assert!(answer.is_error);
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_silent_attempt_takes_10_minutes_at_most_or_a_shorter_deadline_unless_something_is_said()
{
    let deadline = |limit| retry(RetryLayer::builder().deadline(limit));
    let unlimited = retry(RetryLayer::builder().policy(Policy::new().no_deadline()));
    let cases = [
        (settings(), 600 * SECOND),
        (settings().retry(unlimited), 600 * SECOND),
        (settings().retry(deadline(601 * SECOND)), 600 * SECOND),
        (settings().retry(deadline(600 * SECOND)), 600 * SECOND),
        (settings().retry(deadline(4 * SECOND)), 4 * SECOND),
        (settings().attempt_timeout(7 * SECOND), 7 * SECOND),
        (settings().attempt_timeout(2 * HOUR), 2 * HOUR),
        (
            settings().policy(Policy::new().ceiling(5 * SECOND)),
            5 * SECOND,
        ),
    ];
    for (settings, expected) in cases {
        let case = format!("{settings:?}");
        assert_eq!(hangs(&settings.build().unwrap()).await, expected, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_read_only_tool_of_90_s_succeeds_at_the_first_attempt() {
    let begun = Instant::now();
    let tool = Script::timed([(90 * SECOND, Ok(Answer::ok("sent")))]);
    let stack = settings().build().unwrap().layer(tool.clone());
    let answer = stack.oneshot(Call::read_only("report")).await.unwrap();
    assert_eq!(answer, Answer::ok("sent"));
    assert_eq!(begun.elapsed(), 90 * SECOND);
    assert_eq!(tool.calls(), [Duration::ZERO]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ran_into_its_limit_is_repeated_only_if_the_window_leaves_that_much() {
    let hang = || (HOUR, Ok(Answer::ok("late")));
    let exact = || RetryLayer::builder().jitter(Jitter::none());
    // Each limit, and when the attempts begin: waits are 1 s and 2 s.
    for (limit, begins) in [
        (10, vec![0, 11, 23]),
        (26, vec![0, 27]),
        (27, vec![0, 28]),
        (28, vec![0]),
    ] {
        let tool = Script::timed([hang(), hang(), hang()]);
        let stack = settings()
            .attempt_timeout(limit * SECOND)
            .retry(retry(exact()))
            .build()
            .unwrap();
        let stack = stack.layer(tool.clone());
        let answer = stack.oneshot(Call::read_only("get_book")).await.unwrap();
        assert!(answer.is_error);
        let calls = tool.calls();
        let calls: Vec<_> = calls.iter().map(Duration::as_secs).collect();
        assert_eq!(calls, begins, "{limit} s");
    }
}

/// Says who may have been asked to flush it.
#[derive(Clone, Default)]
struct Flushed(Arc<Mutex<Vec<Duration>>>);

impl Sink for Flushed {
    fn write(&self, _: &Record<'_>) {}

    fn flush(&self, at_most: Duration) {
        self.0.lock().unwrap().push(at_most);
    }
}

#[test]
fn the_sink_of_the_log_is_there_to_be_flushed_unless_the_log_is_off() {
    let sink = Flushed::default();
    let log = CallLogLayer::new(sink.clone());
    let layer = ResilienceLayer::builder().log(log).build().unwrap();
    layer.log_sink().unwrap().flush(SECOND);
    assert_eq!(*sink.0.lock().unwrap(), [SECOND]);

    assert!(settings().build().unwrap().log_sink().is_none());
    assert!(ResilienceLayer::new().log_sink().is_some(), "on by default");
}

#[test]
fn by_default_the_line_goes_to_stderr_and_nothing_to_stdout() {
    const THIS: &str = "preset::builder::by_default_the_line_goes_to_stderr_and_nothing_to_stdout";
    if is_the_child(THIS) {
        let layer = ResilienceLayer::default();
        let stack = layer.layer(Script::new([Ok(Answer::ok("12.50"))]));
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        let answer = runtime.block_on(stack.oneshot(Call::tool("quote_price")));
        assert_eq!(answer.unwrap(), Answer::ok("12.50"));
        layer.log_sink().unwrap().flush(10 * SECOND);
        return;
    }
    let output = in_a_child(THIS, &[]);
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|out| String::from_utf8(out).unwrap());
    assert!(stdout.contains("1 passed"), "{stdout}");
    assert!(!stdout.contains("quote_price\""), "{stdout}");
    let line: serde_json::Value = serde_json::from_str(&stderr).unwrap();
    assert_eq!(line["tool"], "quote_price");
    assert_eq!(line["outcome"], "success");
}

#[tokio::test(start_paused = true)]
async fn each_layer_that_is_given_is_the_one_that_is_used() {
    let lines = Lines::default();
    let fatal = FatalLayer::new();
    let detector = |result: &mcp_resilience::is_error::detect::Unflagged<'_>| {
        result.texts().any(|text| text == "UNKNOWN")
    };
    let rule = |_: &io::Error| Some(Failure::blocked("by the rule"));
    let layer = ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .is_error(IsErrorLayer::new().detect(detector))
        .fatal(fatal.clone())
        .classify(ClassifyLayer::new().rule(rule))
        .retry(retry(RetryLayer::builder().max_attempts(1)))
        .build()
        .unwrap();
    let stack = layer.layer(Script::new([
        Ok(Answer::ok("UNKNOWN")),
        Err(io::Error::other("x").into()),
        Err(Failure::rate_limited(None).before_running().into()),
    ]));

    for (tool, class) in [("a", "tool"), ("b", "blocked"), ("c", "rate_limited")] {
        let answer = stack.clone().oneshot(Call::tool(tool)).await.unwrap();
        assert!(answer.is_error, "{tool}");
        let line = lines.all().pop().unwrap();
        assert_eq!(
            (&line["tool"], &line["class"]),
            (&json!(tool), &json!(class))
        );
        assert_eq!(line["attempts"], 1, "{tool}");
    }
    fatal.handle().shut(Fatal::new("the shelf is gone"));
    let cause = layer.fatal_handle().cause().unwrap().to_string();
    assert_eq!(cause, "the shelf is gone");
    assert!(stack.oneshot(Call::tool("d")).await.is_err());
    assert_eq!(lines.all().len(), 4);
}
