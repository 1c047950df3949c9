//! Calls that are dropped, and calls that end in two ways at once.

use crate::{
    stack::{MS, SECOND, Server, fails, fine, gives, preset, retry, see, see_in, wrapped_twice},
    support::{Answer, Call, Lines, Script},
};
use allocation_counter::measure;
use mcp_resilience::{
    Class, Failure,
    call_log::{CallLogLayer, Record, Sink},
};
use std::{
    future::pending,
    io::{Error, ErrorKind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};
use tokio::time::{Instant, sleep, timeout};
use tower::{BoxError, Layer, Service, ServiceExt, limit::ConcurrencyLimitLayer, service_fn};

/// Counts what is alive.
#[derive(Clone, Debug, Default)]
struct Alive(Arc<AtomicUsize>);

struct Guard(Alive);

impl Alive {
    fn guard(&self) -> Guard {
        self.0.fetch_add(1, Relaxed);
        Guard(self.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

impl std::ops::Deref for Alive {
    type Target = AtomicUsize;

    fn deref(&self) -> &AtomicUsize {
        &self.0
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

/// A tool that is slow, refuses at first, or hangs, and holds a resource in the meantime.
fn holding(
    alive: &Alive,
) -> impl Service<Call, Response = Answer, Error = BoxError, Future: Send> + Clone + Send + 'static
{
    let alive = alive.clone();
    service_fn(move |call: Call| {
        let guard = alive.guard();
        async move {
            let _held = guard;
            match call.name.as_str() {
                "hang" => pending().await,
                "refuse" => fails(Failure::rate_limited(Some(60 * SECOND)).before_running()),
                _ => fine(),
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn case_088_a_caller_that_hangs_up_drops_the_running_attempt_at_once() {
    for (tool, runs) in [("hang", 1), ("refuse", 0)] {
        let (lines, alive) = (Lines::default(), Alive::default());
        let stack = preset(&lines, retry()).build().unwrap();
        let mut call = Box::pin(stack.layer(holding(&alive)).oneshot(Call::read_only(tool)));
        timeout(SECOND, &mut call).await.unwrap_err();
        assert_eq!(alive.count(), runs, "in an attempt, or in a wait");
        drop(call);
        assert_eq!(alive.count(), 0);
        assert_eq!(lines.only()["outcome"], "cancelled");
        sleep(3600 * SECOND).await;
        assert_eq!(alive.count(), 0, "nothing goes on");
        assert_eq!(lines.all().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn case_089_a_call_that_is_dropped_leaves_the_connection_to_the_others() {
    let connection = Script::timed([
        (86_400 * SECOND, fine()),
        (SECOND, fine()),
        (86_400 * SECOND, fine()),
        (MS, fine()),
    ]);
    let server = Server::new([gives(&connection)]);
    for _ in 0..2 {
        let dropped = timeout(SECOND, server.call(Call::tool("long")));
        let (dropped, other) = tokio::join!(dropped, async {
            sleep(500 * MS).await;
            server.call(Call::tool("short")).await
        });
        dropped.unwrap_err();
        assert_eq!(other.unwrap(), Answer::ok("fine"));
    }
    assert!(server.handle.is_connected());
    assert_eq!(server.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_090_an_answer_that_races_with_the_end_is_one_outcome_and_one_line() {
    for number in 0..1000 {
        // At the attempt's end, at the call's end, and with a caller that leaves just then.
        let tool = Script::timed([(SECOND, fine())]);
        let limit = if number % 2 == 0 { SECOND } else { 10 * SECOND };
        let deadline = if number % 4 < 2 { 2 * SECOND } else { SECOND };
        let lines = Lines::default();
        let stack = preset(&lines, retry().deadline(deadline));
        let limit = limit.min(deadline.saturating_sub(MS));
        let stack = stack.attempt_timeout(limit).build().unwrap();
        let call = stack.layer(tool.clone()).oneshot(Call::tool("ask"));
        let leaves = sleep(SECOND);
        let ended = if number % 8 < 4 {
            tokio::select! { biased; () = leaves => None, answer = call => Some(answer) }
        } else {
            tokio::select! { biased; answer = call => Some(answer), () = leaves => None }
        };
        let line = lines.only();
        match ended {
            Some(answer) => assert_eq!(line["is_error"], answer.unwrap().is_error),
            None => assert_eq!(line["outcome"], "cancelled"),
        }
        assert_eq!(tool.calls().len(), 1);
    }
}

#[test]
fn case_091_ten_thousand_calls_that_time_out_or_are_dropped_leave_nothing_behind() {
    #[derive(Debug, Default)]
    struct Count(Arc<AtomicUsize>);
    impl Sink for Count {
        fn write(&self, _: &Record<'_>) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let (alive, lines) = (Alive::default(), Arc::<AtomicUsize>::default());
    let stack = preset(&Lines::default(), retry().max_attempts(1))
        .log(CallLogLayer::new(Count(Arc::clone(&lines))))
        .attempt_timeout(10 * MS)
        .build()
        .unwrap();
    let limited = ConcurrencyLimitLayer::new(1).layer(holding(&alive));
    let stack = stack.layer(limited);
    let calls = |count: usize| {
        for number in 0..count {
            let call = stack.clone().oneshot(Call::tool("hang"));
            // Every other one is dropped before its time.
            let patience = if number % 2 == 0 { SECOND } else { 5 * MS };
            let ended = runtime.block_on(async { timeout(patience, call).await });
            assert_eq!(ended.is_ok(), number % 2 == 0);
        }
    };
    calls(100);
    let left = measure(|| calls(10_000));
    assert_eq!(alive.count(), 0);
    assert_eq!(lines.load(Relaxed), 10_100);
    assert!(left.bytes_current.abs() < 4096, "{left:?}");
    // The permit is free.
    let answer = runtime.block_on(stack.oneshot(Call::tool("ask")));
    assert_eq!(answer.unwrap(), Answer::ok("fine"));
}

#[tokio::test(start_paused = true)]
async fn case_092_a_call_that_is_cancelled_within_is_resolved_and_not_repeated() {
    let seen = see(
        Call::read_only("ask"),
        [fails(Failure::cancelled("the host stopped it"))],
    )
    .await;
    let failure = seen.answer.unwrap_err();
    assert_eq!(failure.class(), Class::Cancelled);
    assert!(failure.rpc_error().is_some(), "an answer on the wire");
    assert_eq!(seen.calls.len(), 1);
    assert_eq!(seen.line["outcome"], "failed");

    // An aborted task is an unexpected error. The model reads that the call failed.
    let task = tokio::spawn(pending::<()>());
    task.abort();
    let aborted = task.await.unwrap_err();
    assert!(aborted.is_cancelled());
    let seen = see(Call::read_only("ask"), [Err(aborted.into())]).await;
    seen.flagged();
    assert_eq!(seen.calls.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_093_a_cancellation_wins_over_the_timeout_that_comes_with_it() {
    let timed_out = || Error::from(ErrorKind::TimedOut);
    let steps: [BoxError; 3] = [
        Failure::cancelled("the caller's time is up")
            .because(timed_out())
            .into(),
        wrapped_twice(Failure::cancelled("the caller's time is up").because(timed_out())),
        Error::new(
            ErrorKind::TimedOut,
            Failure::cancelled("the caller's time is up"),
        )
        .into(),
    ];
    for error in steps {
        let tool = Script::timed([(SECOND, Err(error))]);
        let begun = Instant::now();
        let seen = see_in(|lines| preset(lines, retry()), Call::read_only("ask"), tool).await;
        assert_eq!(seen.line["class"], "cancelled");
        assert_eq!(seen.calls.len(), 1);
        assert_eq!(begun.elapsed(), SECOND);
    }
}
