//! Panics in unexpected places.

use super::failure_of_error;
use crate::support::{Answer, Call, Lines, Script, in_a_child, is_the_child};
use mcp_resilience::{
    Class, ResilienceLayer,
    backoff::Jitter,
    call_log::CallLogLayer,
    classify::{ClassifyLayer, silence_panics},
    retry::RetryLayer,
};
use std::{fmt, future::pending, time::Duration};
use tower::{BoxError, Layer, ServiceBuilder, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

/// Panics when it is dropped.
struct Mine;

impl Drop for Mine {
    fn drop(&mut self) {
        panic!("let go too early");
    }
}

fn mined(
    lines: &Lines,
    limit: Option<Duration>,
) -> impl AsyncFn(Call) -> Result<Answer, mcp_resilience::Failure> {
    let retry = RetryLayer::builder().jitter(Jitter::none());
    let mut settings = ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .retry(retry.deadline(6 * SECOND).build().unwrap());
    if let Some(limit) = limit {
        settings = settings.attempt_timeout(limit);
    }
    let stack = settings.build().unwrap().layer(service_fn(async |_: Call| {
        let _mine = Mine;
        pending::<Result<Answer, BoxError>>().await
    }));
    async move |call| stack.clone().oneshot(call).await
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_when_its_time_is_up_leaves_the_timeout_as_it_is() {
    let lines = Lines::default();
    let answer = mined(&lines, Some(4 * SECOND))(Call::tool("pay"))
        .await
        .unwrap();
    assert!(
        answer.text().contains("no answer in time"),
        "{}",
        answer.text()
    );
    let line = lines.only();
    assert_eq!(line["class"], "timeout");
    assert_eq!(line["latency_ms"], 4000);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_drop_of_a_call_at_its_deadline_changes_no_answer() {
    let lines = Lines::default();
    let tools = mined(&lines, None);
    let answer = tools(Call::read_only("get_book")).await.unwrap();
    let text = "no answer within the call's deadline";
    assert!(answer.text().contains(text), "{}", answer.text());
    let line = lines.only();
    assert_eq!(line["attempts"], 1);
    assert_eq!(line["latency_ms"], 6000);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_drop_does_not_reach_a_caller_that_hangs_up() {
    let lines = Lines::default();
    let tools = mined(&lines, None);
    let call = tokio::time::timeout(SECOND, tools(Call::tool("pay")));
    assert!(call.await.is_err());
    assert_eq!(lines.only()["outcome"], "cancelled");
}

#[tokio::test]
async fn a_panic_payload_may_panic_when_it_is_dropped() {
    let tools = ClassifyLayer::new().layer(service_fn(async |_: Call| {
        std::panic::panic_any(Mine) as Result<Answer, BoxError>
    }));
    let failure = tools.oneshot(Call::tool("t")).await.unwrap_err();
    assert_eq!(failure.class(), Class::Crash);
}

/// An error that cannot be shown.
#[derive(Debug)]
struct Unshowable;

impl fmt::Display for Unshowable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("half of ")?;
        panic!("no such locale")
    }
}

impl std::error::Error for Unshowable {}

/// An error that fails to be shown, without a panic.
#[derive(Debug)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Err(fmt::Error)
    }
}

impl std::error::Error for Broken {}

#[tokio::test(start_paused = true)]
async fn an_error_that_cannot_be_shown_is_a_crash_with_its_line_like_any_other() {
    let lines = Lines::default();
    let log = CallLogLayer::new(lines.clone());
    let layer = ResilienceLayer::builder().log(log).build().unwrap();
    let stack = layer.layer(Script::new([Err(Unshowable.into())]));
    let answer = stack.oneshot(Call::tool("t")).await.unwrap();
    assert!(answer.text().starts_with("Error executing tool t (call "));
    let line = lines.only();
    assert_eq!(line["class"], "crash");
    let error = line["error"].as_str().unwrap();
    assert!(
        error.starts_with("failed unexpectedly: half of "),
        "{error}"
    );
    assert!(error.ends_with("an error that cannot be shown"), "{error}");

    let failure = failure_of_error(Broken).await;
    assert_eq!(failure.class(), Class::Crash);
    assert_eq!(failure.chain().to_string(), "failed unexpectedly");
}

/// Panics in `call`, in the future and in a drop, and then a panic outside of the layers. Prints on
/// stdout what became of the calls.
async fn panic_everywhere() {
    for place in ["call", "future", "drop", "caught"] {
        let tools = ServiceBuilder::new()
            .layer(ClassifyLayer::new())
            .timeout(Duration::from_millis(1))
            .service(service_fn(move |_: Call| {
                assert!(place != "call", "a shelf fell at the call");
                async move {
                    assert!(place != "future", "a shelf fell in the future");
                    if place == "caught" {
                        let caught = std::panic::catch_unwind(|| panic!("a shelf was caught"));
                        assert!(caught.is_err());
                        return Ok::<_, BoxError>(Answer::ok("fine"));
                    }
                    let _mine = Mine;
                    pending().await
                }
            }));
        let told = match tools.oneshot(Call::tool("t")).await {
            Ok(answer) => answer.text().to_owned(),
            Err(failure) => failure.chain().to_string(),
        };
        let mut out = std::io::stdout();
        std::io::Write::write_fmt(&mut out, format_args!("told {place}: {told}\n")).unwrap();
    }
    let theirs = std::thread::spawn(|| panic!("a panic of somebody else"));
    assert!(theirs.join().is_err());
}

#[tokio::test]
async fn hushed_panics_stay_off_stderr_and_are_told_with_their_place_and_no_others_are() {
    const THIS: &str = "classify::panics::hushed_panics_stay_off_stderr_and_are_told_with_their_place_and_no_others_are";
    if is_the_child(THIS) {
        let hushes = std::env::var("HUSH").unwrap().parse().unwrap();
        for _ in 0..hushes {
            silence_panics();
        }
        panic_everywhere().await;
        return;
    }
    for hushes in ["0", "1", "3"] {
        let output = in_a_child(THIS, &[("HUSH", hushes)]);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        assert!(output.status.success(), "{stdout}\n{stderr}");
        let theirs = stderr.matches("a panic of somebody else").count();
        assert_eq!(theirs, 1, "{stderr}");

        let is_hushed = hushes != "0";
        let at = if is_hushed {
            " at tests/core/classify/panics.rs:"
        } else {
            ": "
        };
        for place in ["call", "future"] {
            let told = stdout
                .lines()
                .find(|line| line.contains(&format!("told {place}:")));
            let told = told.unwrap();
            assert!(told.contains(&format!("panicked{at}")), "{told}");
            assert!(told.contains("a shelf fell"), "{told}");
        }
        assert!(stdout.contains("told drop: no answer in time"), "{stdout}");
        assert!(stdout.contains("told caught: fine"), "{stdout}");
        for ours in [
            "a shelf fell at the call",
            "in the future",
            "was caught",
            "let go too early",
        ] {
            assert_eq!(stderr.contains(ours), !is_hushed, "{ours}: {stderr}");
        }
    }
}
