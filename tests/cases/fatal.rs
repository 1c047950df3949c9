//! Which failures end the process, and which do not.

use crate::{
    stack::{SECOND, Server, fails, fine, gives, preset, refuses, retry, see, wrapped_twice},
    support::{Answer, Call, Lines, Script, in_a_child, is_the_child},
};
use mcp_resilience::{
    Class, Failure,
    classify::silence_panics,
    fatal::{
        Fatal, FatalLayer,
        startup::{self, OrFatal},
    },
};
use serde_json::Value;
use std::{
    fs,
    io::Error,
    path::{Path, PathBuf},
    process::Output,
};
use tower::{BoxError, Layer, ServiceExt, service_fn};

/// Ends the process as `main` does with this outcome.
fn main_ends(outcome: Result<(), Fatal>) {
    if let Err(fatal) = outcome {
        fatal.exit();
    }
}

/// The variables that are set, and those that are missing.
type Case = (
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn case_062_a_variable_that_is_not_set_ends_the_start_and_all_that_are_missing_are_named() {
    const NAME: &str = "fatal::case_062_a_variable_that_is_not_set_ends_the_start_and_all_that_are_missing_are_named";
    if is_the_child(NAME) {
        let start = || {
            let [token, url] = startup::envs(["CASE_062_TOKEN", "CASE_062_URL"])?;
            eprintln!("serving with {token} at {url}");
            Ok(())
        };
        return main_ends(start());
    }
    let cases: [Case; 3] = [
        (&[], &["CASE_062_TOKEN", "CASE_062_URL"]),
        (&[("CASE_062_URL", "http://x")], &["CASE_062_TOKEN"]),
        (
            &[("CASE_062_TOKEN", "x"), ("CASE_062_URL", "http://x")],
            &[],
        ),
    ];
    for (variables, missing) in cases {
        let output = in_a_child(NAME, variables);
        let serves = stderr(&output).contains("serving with");
        assert_eq!(serves, missing.is_empty());
        assert_eq!(output.status.success(), missing.is_empty());
        for name in missing {
            assert!(stderr(&output).contains(name), "{output:?}");
        }
    }
}

fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn case_064_only_a_config_that_is_missing_may_be_replaced_and_none_is_touched() {
    let missing = Path::new(env!("CARGO_TARGET_TMPDIR")).join("case-064-missing.json");
    let config = startup::config_if_present::<Value>(&missing).unwrap();
    assert_eq!(config, None, "then defaults may stand in");
    assert!(
        startup::config::<Value>(&missing).is_err(),
        "unless it is required"
    );
    assert!(!missing.exists());

    let corrupt: [(&str, &[u8]); 6] = [
        ("cut", b"{\"a\":"),
        ("empty", b""),
        ("blank", b" \n"),
        ("utf8", b"{\"a\": \"\xff\xfe\"}"),
        ("nul", b"\0\0\0\0"),
        ("twice", b"{}{}"),
    ];
    for (name, content) in corrupt {
        let path = file(&format!("case-064-{name}.json"), content);
        let reason = startup::config_if_present::<Value>(&path).unwrap_err();
        let reason = format!("{reason:?}");
        assert!(reason.contains(path.to_str().unwrap()), "{reason}");
        assert_eq!(fs::read(&path).unwrap(), content, "left as it is");
        fs::remove_file(path).unwrap();
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    startup::config_if_present::<Value>(directory).unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn case_065_credentials_that_are_refused_at_the_start_are_fatal_and_later_an_ordinary_failure()
 {
    let refused: [fn() -> BoxError; 2] = [
        || Failure::unauthorized("401: the token is not valid").into(),
        || wrapped_twice(Failure::unauthorized("401: the token is not valid")),
    ];
    for refused in refused {
        let server = Server::new([refuses(refused())]);
        let failure = server.handle.connect().await.unwrap_err();
        assert_eq!(failure.class(), Class::Fatal);
        let reason = format!("{:?}", Fatal::from(failure));
        assert!(reason.contains("401: the token is not valid"), "{reason}");

        let connection = Script::new([Err(refused()), fine()]);
        let server = Server::new([gives(&connection)]);
        server.handle.connect().await.unwrap();
        assert!(server.call(Call::tool("ask")).await.unwrap().is_error);
        let later = server.call(Call::tool("ask")).await.unwrap();
        assert_eq!(later, Answer::ok("fine"));
    }
    // A check of the application before it serves.
    let probe: Result<(), Failure> = Err(Failure::unauthorized("401"));
    let fatal = probe.or_fatal("the token does not work").unwrap_err();
    assert_eq!(format!("{fatal:?}"), "the token does not work: 401");
}

#[test]
fn case_066_a_required_variable_that_is_empty_is_missing_unless_that_is_allowed() {
    const NAME: &str =
        "fatal::case_066_a_required_variable_that_is_empty_is_missing_unless_that_is_allowed";
    if is_the_child(NAME) {
        let empty = startup::env_or_empty("CASE_066_TOKEN");
        assert!(empty.unwrap().trim().is_empty(), "allowed here");
        return main_ends(startup::env("CASE_066_TOKEN").map(drop));
    }
    for blank in ["", "   ", "\t\n", "\u{a0}"] {
        let output = in_a_child(NAME, &[("CASE_066_TOKEN", blank)]);
        assert_eq!(output.status.code(), Some(1), "{blank:?}");
        assert!(stderr(&output).contains("CASE_066_TOKEN is empty"));
    }
}

#[test]
fn case_067_a_fatal_start_is_not_contained_like_a_failed_call() {
    const NAME: &str = "fatal::case_067_a_fatal_start_is_not_contained_like_a_failed_call";
    if is_the_child(NAME) {
        silence_panics();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let started = runtime.block_on(async {
            let stack = preset(&Lines::default(), retry()).build().unwrap();
            let tool = service_fn(async |_: Call| -> Result<Answer, BoxError> { panic!("boom") });
            let answer = stack.layer(tool).oneshot(Call::tool("boom")).await;
            assert!(answer.unwrap().is_error, "contained");
            let bound: Result<(), Error> = Err(Error::other("the port is taken"));
            bound.or_fatal("cannot listen")
        });
        let panics = std::env::var("CASE_067_PANICS").is_ok();
        assert!(!panics, "a start that panics: {started:?}");
        return main_ends(started);
    }
    let output = in_a_child(NAME, &[]);
    assert_eq!(output.status.code(), Some(1));
    let reason = "Error: cannot listen: the port is taken\n";
    assert!(stderr(&output).ends_with(reason), "{output:?}");
    // A panic at startup is not a failed call either.
    let output = in_a_child(NAME, &[("CASE_067_PANICS", "1")]);
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    assert!(told.contains("a start that panics"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn case_069_a_fatal_error_in_the_background_ends_every_call_and_wakes_main() {
    let lines = Lines::default();
    let fatal = FatalLayer::new();
    let handle = fatal.handle();
    let stack = preset(&lines, retry()).fatal(fatal).build().unwrap();
    let tool = Script::new([fine()]);
    let stack = stack.layer(tool.clone());
    stack.clone().oneshot(Call::tool("ask")).await.unwrap();
    let waiting = tokio::spawn({
        let handle = handle.clone();
        async move { handle.wait().await }
    });
    let background = tokio::spawn({
        let handle = handle.clone();
        async move { handle.shut(Fatal::new("the protocol is out of step")) }
    });
    background.await.unwrap();
    for _ in 0..3 {
        let failure = stack.clone().oneshot(Call::read_only("ask")).await;
        assert_eq!(failure.unwrap_err().class(), Class::Fatal);
    }
    assert_eq!(tool.calls().len(), 1, "nothing runs any more");
    let line = lines.all().pop().unwrap();
    let error = line["error"].as_str().unwrap();
    assert!(error.contains("the protocol is out of step"), "{error}");
    let reason = tokio::time::timeout(SECOND, waiting).await.unwrap();
    assert_eq!(
        format!("{:?}", reason.unwrap()),
        "the protocol is out of step"
    );

    // The same from within a call.
    let seen = see(Call::read_only("ask"), [fails(Failure::fatal("gone"))]).await;
    assert_eq!(seen.answer.unwrap_err().class(), Class::Fatal);
    assert_eq!(seen.calls.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_070_only_what_the_application_requires_is_fatal() {
    let required = file("case-070-required.json", b"{\"title\": \"Dune\"}");
    let optional = file("case-070-optional.json", b"{\"servers\": ");
    let start = || -> Result<_, Fatal> {
        let catalog: Value = startup::config(&required)?;
        // No `?`: what is optional is disabled, and its error kept.
        let servers = startup::config_if_present::<Value>(&optional);
        Ok((catalog, servers))
    };
    let (catalog, servers) = start().unwrap();
    assert_eq!(catalog["title"], "Dune");
    let broken = servers.unwrap_err();
    let text = format!("{broken:?}");
    assert!(text.contains("case-070-optional.json:1:"), "{text}");

    let stack = preset(&Lines::default(), retry()).build().unwrap();
    let handle = stack.fatal_handle();
    let stack = stack.layer(service_fn(async |call: Call| {
        if call.name == "optional" {
            return Err(Failure::disabled("the servers' file is corrupt"));
        }
        Ok(Answer::ok("fine"))
    }));
    let disabled = stack.clone().oneshot(Call::tool("optional")).await.unwrap();
    assert!(disabled.is_error);
    assert!(disabled.text().contains("the servers' file is corrupt"));
    let answer = stack.oneshot(Call::tool("required")).await.unwrap();
    assert_eq!(answer, Answer::ok("fine"));
    assert!(handle.cause().is_none());
    fs::remove_file(required).unwrap();
    fs::remove_file(optional).unwrap();
}
