//! How often a call is made, and when.

use crate::{
    stack::{
        MS, SECOND, Server, Step, fails, fine, gives, lost, millis, preset, retry, see, see_in,
        see_with,
    },
    support::{Answer, Call, Lines, Script, Strict},
};
use mcp_resilience::{
    Class, Delivery, Failure,
    backoff::{Backoff, Jitter},
    policy::Problem,
    retry::RetryLayer,
};
use serde_json::json;
use std::{
    future::{Ready, ready},
    io::{Error, ErrorKind},
    iter,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};
use tower::{BoxError, Layer, Service, ServiceExt};

fn refused() -> Step {
    fails(Failure::rate_limited(None).before_running())
}

/// Refuses twice; its readiness is counted, and fails when it is asked for the `fails_at`th time.
#[derive(Clone, Debug)]
struct Counted {
    readied: Arc<AtomicUsize>,
    called: Arc<AtomicUsize>,
    fails_at: usize,
}

impl Service<Call> for Counted {
    type Response = Answer;
    type Error = BoxError;
    type Future = Ready<Step>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let asked = self.readied.fetch_add(1, Relaxed) + 1;
        Poll::Ready(if asked == self.fails_at {
            Err("out of order".into())
        } else {
            Ok(())
        })
    }

    fn call(&mut self, _: Call) -> Ready<Step> {
        let called = self.called.fetch_add(1, Relaxed) + 1;
        ready(if called < 3 { refused() } else { fine() })
    }
}

#[tokio::test(start_paused = true)]
async fn case_026_every_attempt_is_made_on_an_instance_that_was_made_ready_for_it() {
    for (fails_at, readied, called) in [(usize::MAX, 3, 3), (2, 2, 1), (3, 3, 2)] {
        let tool = Counted {
            readied: Arc::default(),
            called: Arc::default(),
            fails_at,
        };
        let retry = retry().build().unwrap().layer(Strict::new(tool.clone()));
        let answer = retry.oneshot(Call::tool("ask")).await;
        assert_eq!(answer.is_ok(), called == 3, "{answer:?}");
        assert_eq!(tool.readied.load(Relaxed), readied);
        assert_eq!(tool.called.load(Relaxed), called);
    }
}

#[tokio::test(start_paused = true)]
async fn case_029_the_first_wait_is_the_base_and_no_jitter_goes_beyond_the_cap() {
    let bounded = || retry().backoff(Backoff::new(100 * MS, 250 * MS).unwrap());
    let seen = see_with(
        bounded(),
        Call::tool("ask"),
        iter::repeat_with(refused).take(4),
    )
    .await;
    assert_eq!(millis(&seen.calls), [0, 100, 300, 550]);
    let jitters = iter::repeat_with(Jitter::full).take(200);
    let greedy = Jitter::by(|ceiling| ceiling * 3);
    for jitter in jitters.chain([greedy]) {
        let steps = iter::repeat_with(refused).take(4);
        let seen = see_with(bounded().jitter(jitter), Call::tool("ask"), steps).await;
        for (pair, ceiling) in seen.calls.windows(2).zip([100, 200, 250]) {
            // The clock of tokio's waits counts in whole milliseconds, rounded up.
            assert!(
                pair[1].abs_diff(pair[0]) <= (ceiling + 1) * MS,
                "{:?}",
                seen.calls
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_030_stacked_retries_make_as_many_attempts_as_the_inner_one() {
    let steps: [fn() -> Step; 3] = [refused, lost, || {
        Ok(Answer::envelope(
            json!({"code": "rate_limited", "error": "429"}),
        ))
    }];
    for step in steps {
        let tool = Script::new(iter::repeat_with(step).take(9));
        let lines = Lines::default();
        let stack = |lines: &Lines| {
            let preset = preset(lines, retry().max_attempts(3));
            preset.build().unwrap()
        };
        let retry = || retry().max_attempts(3).build().unwrap();
        let stacked = retry().layer(retry().layer(stack(&lines).layer(tool.clone())));
        let _ = stacked.oneshot(Call::read_only("ask")).await;
        assert_eq!(tool.calls().len(), 3, "and not 9");
    }
}

#[tokio::test(start_paused = true)]
async fn case_031_after_a_lost_connection_only_a_tool_that_may_run_twice_is_run_again() {
    let idempotent = Call {
        hints: mcp_resilience::call::Hints::new().idempotent(true),
        ..Call::tool("put")
    };
    for (call, repeats) in [
        (Call::read_only("look"), true),
        (idempotent, true),
        (Call::tool("book"), false),
    ] {
        let first = Script::new([lost()]);
        let second = Script::new([fine(), fine()]);
        let server = Server::new([gives(&first), gives(&second)]);
        let answer = server.call(call.clone()).await.unwrap();
        assert_eq!(answer.is_error, !repeats);
        assert_eq!(second.calls().len(), usize::from(repeats));
        if !repeats {
            let text = answer.text();
            assert!(text.contains("It may have run; verify"), "{text}");
            assert_eq!(server.lines.only()["retry_stopped"], "may_have_run");
        }
        server.call(call).await.unwrap();
        assert_eq!(server.handle.generation(), 2, "renewed for later calls");
    }
}

#[tokio::test(start_paused = true)]
async fn case_031_the_first_try_and_the_replay_have_one_deadline() {
    let limited = retry().deadline(3 * SECOND);
    let steps = [
        (2 * SECOND, lost()),
        (3600 * SECOND, fine()),
        (Duration::ZERO, fine()),
    ];
    let tool = Script::timed(steps);
    let preset = |lines: &Lines| preset(lines, limited).attempt_timeout(2_500 * MS);
    let seen = see_in(preset, Call::read_only("look"), tool).await;
    seen.flagged();
    assert_eq!(seen.took, 3 * SECOND);
    assert_eq!(millis(&seen.calls), [0, 2100]);
}

#[tokio::test(start_paused = true)]
async fn case_033_clone_alone_does_not_let_a_call_run_twice() {
    let timed_out = || Err(Error::from(ErrorKind::TimedOut).into());
    let steps: Vec<Box<dyn Fn() -> Step>> = vec![
        Box::new(|| fails(Failure::upstream("502"))),
        Box::new(|| fails(Failure::upstream("502").with_delivery(Delivery::Unknown))),
        Box::new(|| {
            fails(
                Failure::upstream("503")
                    .with_status(503)
                    .with_retry_after(SECOND),
            )
        }),
        Box::new(|| {
            Ok(Answer::envelope(
                json!({"status": 502, "error": "bad gateway"}),
            ))
        }),
        Box::new(|| Ok(Answer::envelope(json!({"status": 504, "retryAfter": 1})))),
        Box::new(lost),
        Box::new(timed_out),
        Box::new(|| Err("anything".into())),
    ];
    for step in steps {
        let seen = see(Call::tool("create_token"), [step()]).await;
        assert_eq!(seen.calls.len(), 1, "{}", seen.line);
        seen.flagged();
    }
}

#[tokio::test(start_paused = true)]
async fn case_034_there_is_no_hidden_limit_and_one_that_is_set_counts_from_the_start() {
    let steps = || [(1200 * SECOND, lost()), (Duration::ZERO, fine())];
    let long = |lines: &Lines| preset(lines, retry()).attempt_timeout(3600 * SECOND);
    let seen = see_in(long, Call::read_only("stream"), Script::timed(steps())).await;
    seen.assert_fine();
    assert_eq!(millis(&seen.calls), [0, 1_200_100]);

    // A deadline that prevents a further attempt is the reason on the line.
    let limited = retry().deadline(SECOND);
    let limited = |lines: &Lines| preset(lines, limited).attempt_timeout(950 * MS);
    let steps = [(2 * SECOND, lost()), (Duration::ZERO, fine())];
    let seen = see_in(limited, Call::read_only("stream"), Script::timed(steps)).await;
    seen.flagged();
    assert_eq!(seen.calls.len(), 1);
    assert_eq!(seen.line["retry_stopped"], "deadline");
    // It counts from the moment that the call is first waited for, and cuts an attempt off.
    let limited = retry().deadline(SECOND).build().unwrap();
    let tool = Script::timed([(2 * SECOND, fine())]);
    let call = limited.layer(tool).oneshot(Call::read_only("stream"));
    tokio::time::sleep(10 * SECOND).await;
    let begun = tokio::time::Instant::now();
    let failure = call.await.unwrap_err();
    assert_eq!(failure.class(), Class::Timeout);
    assert_eq!(begun.elapsed(), SECOND);
}

#[test]
fn case_034_the_default_limit_is_the_documented_one() {
    assert_eq!(RetryLayer::new().deadline(), None);
    assert_eq!(RetryLayer::new().retry_window(), Some(55 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn case_036_the_answer_is_there_by_the_deadline_whatever_an_attempt_may_take() {
    let hangs = || (86_400 * SECOND, fine());
    // A slow first attempt leaves the second one the remaining time.
    let tool = Script::timed([(30 * SECOND, lost()), hangs(), hangs()]);
    let limited = retry().deadline(50 * SECOND);
    let preset = |lines: &Lines| preset(lines, limited).attempt_timeout(40 * SECOND);
    let seen = see_in(preset, Call::read_only("look"), tool).await;
    seen.flagged();
    assert_eq!(seen.took, 50 * SECOND);
    assert_eq!(
        millis(&seen.calls),
        [0, 30_100],
        "the second had what was left"
    );
    assert_eq!(seen.line["class"], "timeout");
    assert_eq!(seen.line["latency_ms"], 50_000);
}

#[tokio::test(start_paused = true)]
async fn case_037_the_setting_counts_attempts_with_the_first_and_says_so() {
    for attempts in [1_u32, 2, 4] {
        let limited = retry().max_attempts(attempts);
        let steps = iter::repeat_with(refused).take(9);
        let seen = see_with(limited, Call::tool("ask"), steps).await;
        assert_eq!(seen.calls.len(), attempts as usize);
        assert_eq!(seen.line["attempts"], attempts);
        assert_eq!(seen.line["retried"], attempts > 1);
        if attempts == 1 {
            assert_eq!(seen.took, Duration::ZERO, "no sleep");
        }
    }
    let none = RetryLayer::builder().max_attempts(0).build();
    assert_eq!(none.unwrap_err().problem(), Problem::NoAttempts);
}

#[tokio::test(start_paused = true)]
async fn case_038_the_caller_gets_the_last_failure() {
    let steps = [
        fails(
            Failure::rate_limited(None)
                .before_running()
                .with_message("e1"),
        ),
        lost(),
        fails(
            Failure::at_capacity(None)
                .before_running()
                .with_message("e3"),
        ),
        fails(
            Failure::unavailable(None)
                .before_running()
                .with_message("e4"),
        ),
    ];
    let seen = see(Call::read_only("ask"), steps).await;
    let text = seen.flagged().text();
    assert!(text.contains("e4"), "{text}");
    assert_eq!(seen.line["class"], Class::Unavailable.as_str());
    assert_eq!(seen.line["retry_stopped"], "attempts");

    // And if it was the tool's own, it is that result, field for field.
    let last = Answer::envelope(json!({"code": "rate_limited", "error": "e4", "own": [1, 2]}));
    let steps = [refused(), refused(), refused(), Ok(last.clone())];
    let seen = see(Call::tool("ask"), steps).await;
    assert_eq!(seen.flagged(), &last);
}
