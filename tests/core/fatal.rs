//! How a process ends: the fatal latch of a stack, and the checks at startup.

mod answering;
mod reasons;

use crate::{
    contract::Unready,
    support::{Answer, Call, Script, Strict, in_a_child, is_the_child},
};
use mcp_resilience::{
    Class, Failure,
    fatal::{
        Fatal, FatalHandle, FatalLayer,
        startup::{self, OrFatal},
    },
};
use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Output, Termination, exit},
    time::Duration,
};
use tokio::{
    task::yield_now,
    time::{sleep, timeout},
};
use tower::{BoxError, Layer, Service, ServiceExt};

const SECOND: Duration = Duration::from_secs(1);

fn gone() -> Result<Answer, BoxError> {
    Err(Failure::fatal("the catalog is gone").into())
}

fn cause(handle: &FatalHandle) -> Option<String> {
    handle.cause().map(|cause| cause.to_string())
}

#[tokio::test(start_paused = true)]
async fn the_first_fatal_failure_shuts_all_services_of_the_layer_and_their_clones() {
    let layer = FatalLayer::new();
    let other = Script::new([]);
    let mut same = layer.clone().layer(Strict::new(other.clone()));
    let mut stack = layer.layer(Strict::new(Script::new([gone()])));
    let mut before = stack.clone();
    // Ready before the end, called after it.
    before.ready().await.unwrap();
    same.ready().await.unwrap();

    let first = stack.ready().await.unwrap().call(Call::tool("t")).await;
    assert_eq!(first.unwrap_err().to_string(), "the catalog is gone");

    let mut after = stack.clone();
    let refusals = [
        (
            "made ready before",
            before.call(Call::tool("t")).await.unwrap_err(),
        ),
        (
            "made ready before, of another service",
            same.call(Call::tool("t")).await.unwrap_err(),
        ),
        ("readiness", stack.ready().await.unwrap_err()),
        ("readiness of a clone", after.ready().await.unwrap_err()),
        (
            "readiness of another service",
            same.ready().await.unwrap_err(),
        ),
    ];
    for (case, failure) in refusals {
        assert_eq!(failure.class(), Class::Fatal, "{case}");
        assert!(
            failure.chain().to_string().ends_with("the catalog is gone"),
            "{case}"
        );
    }
    assert_eq!(
        cause(&layer.handle()).as_deref(),
        Some("the catalog is gone")
    );
    assert!(other.calls().is_empty(), "nothing is called any more");
    let mut unrelated = FatalLayer::new().layer(Script::new([]));
    assert!(unrelated.ready().await.is_ok(), "another layer goes on");
}

#[tokio::test(start_paused = true)]
async fn calls_that_run_when_it_shuts_finish_and_the_first_cause_stays() {
    let layer = FatalLayer::new();
    let handle = layer.handle();
    let second = Failure::fatal("and the shelf too");
    let tool = Script::timed([
        (5 * SECOND, Ok(Answer::ok("slow"))),
        (SECOND, gone()),
        (2 * SECOND, Err(second.into())),
    ]);
    let stack = layer.layer(tool.clone());
    let calls = [(); 3].map(|()| tokio::spawn(stack.clone().oneshot(Call::tool("t"))));
    let [slow, first, second] = calls.map(|call| async { call.await.unwrap() });
    assert!(first.await.is_err());
    assert_eq!(second.await.unwrap_err().to_string(), "and the shelf too");
    assert_eq!(slow.await.unwrap(), Answer::ok("slow"));
    assert_eq!(cause(&handle).as_deref(), Some("the catalog is gone"));
}

#[tokio::test(start_paused = true)]
async fn any_other_failure_changes_nothing() {
    let classes = || Class::all().filter(|&class| class != Class::Fatal);
    let layer = FatalLayer::new();
    let steps = classes().map(|class| Err(Failure::new(class, "").into()));
    let stack = layer.layer(Script::new(steps.chain([Ok(Answer::ok("fine"))])));
    for class in classes() {
        let failure = stack.clone().oneshot(Call::tool("t")).await.unwrap_err();
        assert_eq!(failure.class(), class);
    }
    assert_eq!(cause(&layer.handle()), None);
    assert!(stack.oneshot(Call::tool("t")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_fatal_readiness_shuts_it_too_and_any_other_passes() {
    for (class, shuts) in [(Class::Fatal, true), (Class::Disabled, false)] {
        let layer = FatalLayer::new();
        let failure = layer.layer(Unready(class)).oneshot(Call::tool("t")).await;
        assert_eq!(failure.unwrap_err().class(), class);
        assert_eq!(layer.handle().cause().is_some(), shuts, "{class}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_wakes_a_caller_that_waits_for_the_inner_service() {
    let layer = FatalLayer::new();
    let busy = tower::limit::ConcurrencyLimit::new(Script::new([Ok(Answer::ok("late"))]), 1);
    let mut first = busy.clone();
    // The only place is taken, and never given back.
    first.ready().await.unwrap();
    let mut tools = layer.layer(busy);
    let waiting = tokio::spawn(async move { tools.ready().await.map(drop) });
    yield_now().await;
    layer.handle().shut(Fatal::new("the shelf is gone"));

    let failure = waiting.await.unwrap().unwrap_err();
    assert_eq!(failure.class(), Class::Fatal);
    assert!(failure.chain().to_string().contains("the shelf is gone"));
}

#[tokio::test(start_paused = true)]
async fn every_waiter_gets_the_cause_of_the_end_early_or_late() {
    let layer = FatalLayer::new();
    let wait = || {
        let handle = layer.handle();
        tokio::spawn(async move { format!("{:?}", handle.wait().await) })
    };
    let waiting = [wait(), wait(), wait()];
    let dropped = wait();
    yield_now().await;
    dropped.abort();
    sleep(SECOND).await;
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()));

    // From a background task, where no call would report it.
    let handle = layer.handle();
    let background = Fatal::new("the index is corrupt").because(gone().unwrap_err());
    tokio::spawn(async move { handle.shut(background) });
    for waiting in waiting.into_iter().chain([wait()]) {
        let cause = timeout(SECOND, waiting).await.unwrap().unwrap();
        assert_eq!(cause, "the index is corrupt: the catalog is gone");
    }
    let mut stack = layer.layer(Script::new([]));
    let failure = stack.ready().await.unwrap_err();
    assert_eq!(failure.class(), Class::Fatal);
    let told = "the tool server is out of service";
    assert_eq!(failure.to_string(), told, "the reason is the operator's");
    let chain = failure.chain().to_string();
    assert!(
        chain.contains("the index is corrupt: the catalog is gone"),
        "{chain}"
    );
}

/// Where the tests of this run may put files.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

type Prices = BTreeMap<String, u16>;

#[test]
fn a_config_that_cannot_be_read_says_where_and_is_left_as_it_is() {
    let cases: [(&str, &[u8], &str); 7] = [
        ("cut.json", b"{\"a\":", "1:5: EOF while parsing a value"),
        ("empty.json", b"", "1:0: EOF while parsing a value"),
        (
            "bytes.json",
            b"{\n\"\xff\": 1}",
            "2:2: invalid unicode code point",
        ),
        (
            "type.json",
            b"{\"a\": 1,\n \"b\": \"x\"}",
            "2:9: invalid type: string \"x\", expected u16",
        ),
        (
            "list.json",
            b"[]",
            "1:0: invalid type: sequence, expected a map",
        ),
        ("more.json", b"{} {}", "1:4: trailing characters"),
        ("mark.json", b"\xef\xbb\xbf{}", "1:1: expected value"),
    ];
    for (name, bytes, problem) in cases {
        let path = file(name);
        fs::write(&path, bytes).unwrap();
        let hint = "; the file is corrupt, repair it and start again";
        let expected = format!("{}:{problem}{hint}", path.display());
        let fatal = startup::config::<Prices>(&path).unwrap_err();
        assert_eq!(fatal.to_string(), expected, "{name}");
        let fatal = startup::config_if_present::<Prices>(&path).unwrap_err();
        assert_eq!(
            fatal.to_string(),
            expected,
            "{name}: not taken for a missing one"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes, "{name}");
    }
}

#[test]
fn only_a_config_that_is_missing_may_be_replaced_by_defaults() {
    let missing = file("no such directory/prices.json");
    let fatal = startup::config::<Prices>(&missing).unwrap_err();
    assert_eq!(
        fatal.to_string(),
        format!("cannot read {}", missing.display())
    );
    let source = fatal.source().unwrap().downcast_ref::<std::io::Error>();
    assert_eq!(source.unwrap().kind(), ErrorKind::NotFound);
    assert!(
        startup::config_if_present::<Prices>(&missing)
            .unwrap()
            .is_none()
    );

    let directory = file("");
    for fatal in [
        startup::config::<Prices>(&directory).unwrap_err(),
        startup::config_if_present::<Prices>(&directory).unwrap_err(),
    ] {
        assert_eq!(
            fatal.to_string(),
            format!("cannot read {}", directory.display())
        );
    }

    let good = file("good.json");
    fs::write(&good, r#"{"emma": 1250}"#).unwrap();
    let prices = Prices::from([("emma".to_owned(), 1250)]);
    assert_eq!(startup::config::<Prices>(&good).unwrap(), prices);
    assert_eq!(
        startup::config_if_present::<Prices>(&good).unwrap(),
        Some(prices)
    );
}

#[test]
fn a_variable_that_is_unset_empty_or_blank_is_missing_and_all_that_are_missing_are_named() {
    const THIS: &str = "fatal::a_variable_that_is_unset_empty_or_blank_is_missing_and_all_that_are_missing_are_named";
    if !is_the_child(THIS) {
        let variables = [("A_TOKEN", "s3cret"), ("AN_EMPTY", ""), ("A_BLANK", " \t ")];
        let output = in_a_child(THIS, &variables);
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && told.contains("1 passed"),
            "{output:?}"
        );
        return;
    }
    assert_eq!(startup::env("A_TOKEN").unwrap(), "s3cret");
    let [token, path] = startup::envs(["A_TOKEN", "PATH"]).unwrap();
    assert_eq!(token, "s3cret");
    assert_eq!(Ok(path), env::var("PATH"));
    let fatal = startup::envs(["A_TOKEN", "B_URL", "AN_EMPTY", "A_BLANK"]).unwrap_err();
    assert_eq!(
        fatal.to_string(),
        "missing environment variables: B_URL is not set, AN_EMPTY is empty, A_BLANK is empty; \
         set them and start again"
    );
    for name in ["B_URL", "AN_EMPTY", "A_BLANK"] {
        let fatal = startup::env(name).unwrap_err().to_string();
        assert!(fatal.contains(name) && !fatal.contains("s3cret"), "{fatal}");
    }
    assert_eq!(startup::env_or_empty("AN_EMPTY").unwrap(), "");
    let fatal = startup::env_or_empty("B_URL").unwrap_err();
    assert_eq!(fatal.to_string(), "B_URL is not set");
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_unicode_counts_as_missing() {
    use std::os::unix::ffi::OsStrExt;
    const THIS: &str = "fatal::a_variable_that_is_not_unicode_counts_as_missing";
    if is_the_child(THIS) {
        let fatal = startup::env("A_TOKEN").unwrap_err().to_string();
        assert!(fatal.contains("A_TOKEN is not Unicode"), "{fatal}");
        return;
    }
    let bytes = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", THIS])
        .env("IN_A_CHILD", THIS)
        .env("A_TOKEN", bytes)
        .output();
    assert!(status.unwrap().status.success());
}

#[test]
fn any_check_can_be_fatal() {
    let fatal = "x"
        .parse::<u16>()
        .or_fatal("the port is no number")
        .unwrap_err();
    assert_eq!(fatal.to_string(), "the port is no number");
    assert_eq!(
        format!("{fatal:?}"),
        "the port is no number: invalid digit found in string"
    );
    assert_eq!("80".parse::<u16>().or_fatal("").unwrap(), 80);
    assert_eq!(Some(1).or_fatal("").unwrap(), 1);
    let fatal = None::<()>.or_fatal("no port").unwrap_err();
    assert_eq!(format!("{fatal:?}"), "no port");
    let failure = Failure::unauthorized("401").because("expired yesterday");
    let fatal = Fatal::from(failure);
    assert_eq!(
        format!("{fatal:?}"),
        "401: expired yesterday",
        "of a probe at the start"
    );
}

#[test]
fn the_reason_is_one_line_whatever_stands_in_it() {
    let nested = Fatal::new("no\nprices").because(Fatal::new("\u{1b}[31mred\r\n").because("end\0"));
    let line = format!("{nested:?}");
    assert!(!line.chars().any(char::is_control), "{line:?}");
    assert_eq!(line, "no prices: \\u{1b}[31mred  : end\\u{0}");
}

fn missing_price() -> Fatal {
    Fatal::new("cannot read prices.json").because("permission denied")
}

/// The child's lines on stderr, without what the test harness may say.
fn reason(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_main_that_returns_it_ends_with_exit_code_1_and_the_reason_on_stderr() {
    const THIS: &str =
        "fatal::a_main_that_returns_it_ends_with_exit_code_1_and_the_reason_on_stderr";
    if is_the_child(THIS) {
        // The standard library's handling of the value that `main` returns.
        let code = Err::<(), _>(missing_price()).report();
        exit(i32::from(code == ExitCode::FAILURE));
    }
    let output = in_a_child(THIS, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        reason(&output),
        "Error: cannot read prices.json: permission denied\n"
    );
}

#[test]
fn exit_ends_the_process_at_once_with_the_same_message() {
    const THIS: &str = "fatal::exit_ends_the_process_at_once_with_the_same_message";
    if is_the_child(THIS) {
        missing_price().exit();
    }
    let output = in_a_child(THIS, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        reason(&output),
        "Error: cannot read prices.json: permission denied\n"
    );
}
