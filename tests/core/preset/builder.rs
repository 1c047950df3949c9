//! The preset's settings: what is refused, and what holds where nothing is said.

use crate::support::{Answer, Call, Lines, Script, in_a_child, is_the_child};
use mcp_resilience::{
    Failure, ResilienceLayer,
    call_log::{CallLogLayer, Record, Sink},
    classify::ClassifyLayer,
    fatal::{Fatal, FatalLayer},
    is_error::IsErrorLayer,
    preset::{InvalidResilience, ResilienceBuilder},
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
    let beyond =
        |limit: Duration, deadline| InvalidResilience::AttemptBeyondDeadline { limit, deadline };
    let short = || retry(RetryLayer::builder().deadline(2 * SECOND));
    #[rustfmt::skip]
    let cases = [
        (settings().attempt_timeout(Duration::ZERO), InvalidResilience::ZeroAttemptTimeout,
            "an attempt timeout of zero: give an attempt some time"),
        (settings().attempt_timeout(55 * SECOND), beyond(55 * SECOND, 55 * SECOND),
            "an attempt timeout of 55s does not fit into a deadline of 55s for the whole call: raise the deadline of the retry layer, or lower the attempt timeout"),
        (settings().attempt_timeout(3 * SECOND).retry(short()), beyond(3 * SECOND, 2 * SECOND),
            "an attempt timeout of 3s does not fit into a deadline of 2s for the whole call: raise the deadline of the retry layer, or lower the attempt timeout"),
    ];
    for (settings, refusal, message) in cases {
        let refused = settings.build().unwrap_err();
        assert_eq!(refused, refusal);
        assert_eq!(refused.to_string(), message);
    }
    let no_deadline = || retry(RetryLayer::builder().no_deadline());
    for settings in [
        settings().attempt_timeout(Duration::from_millis(54_999)),
        settings().attempt_timeout(HOUR).retry(no_deadline()),
        settings().retry(short()),
    ] {
        assert!(settings.build().is_ok());
    }
}

/// How long a call takes that nobody answers, and that may not be repeated.
async fn hangs(layer: &ResilienceLayer) -> Duration {
    let begun = Instant::now();
    let stack = layer.layer(Script::timed([(24 * HOUR, Ok(Answer::ok("late")))]));
    let answer = stack.oneshot(Call::tool("pay")).await.unwrap();
    assert!(answer.is_error);
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn an_attempt_takes_30_s_at_most_or_half_of_a_shorter_deadline_unless_something_is_said() {
    let deadline = |limit| retry(RetryLayer::builder().deadline(limit));
    let unlimited = retry(RetryLayer::builder().no_deadline());
    let cases = [
        (settings(), 30 * SECOND),
        (settings().retry(unlimited), 30 * SECOND),
        (settings().retry(deadline(31 * SECOND)), 30 * SECOND),
        (settings().retry(deadline(30 * SECOND)), 15 * SECOND),
        (settings().retry(deadline(4 * SECOND)), 2 * SECOND),
        (settings().attempt_timeout(7 * SECOND), 7 * SECOND),
    ];
    for (settings, expected) in cases {
        let case = format!("{settings:?}");
        assert_eq!(hangs(&settings.build().unwrap()).await, expected, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_whole_call_takes_55_s_at_most_unless_something_is_said() {
    let begun = Instant::now();
    let late = || (HOUR, Ok(Answer::ok("late")));
    let stack = settings().build().unwrap();
    let stack = stack.layer(Script::timed([late(), late(), late()]));
    let answer = stack.oneshot(Call::read_only("get_book")).await.unwrap();
    assert!(answer.is_error);
    assert_eq!(begun.elapsed(), 55 * SECOND, "two attempts, one cut short");
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
