//! Single flight on several threads, over connections that die after one answer.

use super::{Ask, MS};
use mcp_resilience::{Class, Failure, backoff::Backoff, reconnect::ReconnectLayer};
use std::{
    env,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{
    task::{JoinSet, yield_now},
    time::{Instant, timeout},
};
use tower::{Layer, ServiceExt, service_fn};

/// Calls of this many tasks. Every call has a number, and is noted when it runs.
///
/// Each task gets at least this many answers. With `MCP_RESILIENCE_SECONDS=30` it goes on for 30 s.
async fn no_two_dials_with(tasks: usize, calls: u64) {
    let seconds = env::var("MCP_RESILIENCE_SECONDS").ok();
    let seconds = seconds.map_or(0, |seconds| seconds.parse().unwrap());
    let until = Instant::now() + Duration::from_secs(seconds);
    let dialing = Arc::new(AtomicUsize::new(0));
    let (most, dials) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)));
    let ran = Arc::new(Mutex::new(Vec::<u64>::new()));
    let connector = service_fn({
        let (dialing, most, ran) = (Arc::clone(&dialing), Arc::clone(&most), Arc::clone(&ran));
        let dials = Arc::clone(&dials);
        move |()| {
            dials.fetch_add(1, SeqCst);
            let (dialing, most, ran) = (Arc::clone(&dialing), Arc::clone(&most), Arc::clone(&ran));
            async move {
                most.fetch_max(dialing.fetch_add(1, SeqCst) + 1, SeqCst);
                for _ in 0..3 {
                    yield_now().await;
                }
                dialing.fetch_sub(1, SeqCst);
                let is_dead = Arc::new(AtomicBool::new(false));
                let connection = service_fn(move |number: u64| {
                    let was_dead = is_dead.swap(true, SeqCst);
                    let ran = Arc::clone(&ran);
                    async move {
                        if was_dead {
                            return Err(Failure::connection("reset by peer"));
                        }
                        ran.lock().unwrap().push(number);
                        Ok(number)
                    }
                });
                Ok::<_, Failure>(connection)
            }
        }
    });
    // Time is real here: the waits are short.
    let layer = ReconnectLayer::builder(()).backoff(Backoff::new(MS, 2 * MS).unwrap());
    let tools = layer.build().unwrap().layer(connector);
    let numbers = Arc::new(AtomicU64::new(0));
    let mut asking = JoinSet::new();
    for _ in 0..tasks {
        let (tools, numbers) = (tools.clone(), Arc::clone(&numbers));
        asking.spawn(async move {
            let mut answered = 0;
            while answered < calls || Instant::now() < until {
                let number = numbers.fetch_add(1, SeqCst);
                match tools.clone().oneshot(number).await {
                    Ok(answer) => {
                        assert_eq!(answer, number);
                        answered += 1;
                    }
                    Err(failure) => assert_eq!(failure.class(), Class::Connection),
                }
            }
        });
    }
    let all = timeout(Duration::from_secs(120 + seconds), asking.join_all());
    all.await.expect("no call is stuck");
    assert_eq!(most.load(SeqCst), 1, "two dials at once");
    let mut ran = ran.lock().unwrap().clone();
    let count = ran.len();
    ran.sort_unstable();
    ran.dedup();
    assert_eq!(ran.len(), count, "a call ran twice");
    if seconds > 0 {
        let dials = dials.load(SeqCst);
        let asked = numbers.load(SeqCst);
        eprintln!("{tasks} tasks for {seconds} s: {asked} calls, {count} answered, {dials} dials");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_tasks_over_connections_that_die_after_one_answer_never_dial_twice_at_once() {
    no_two_dials_with(2, 100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_tasks_over_connections_that_die_after_one_answer_never_dial_twice_at_once() {
    no_two_dials_with(16, 12).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_dropped_at_any_moment_leave_no_dial_and_strand_no_other_call() {
    let server = super::Server::new([]);
    let backoff = Backoff::new(MS, MS).unwrap();
    let layer = ReconnectLayer::builder(()).backoff(backoff);
    let tools = server.connect(layer);
    let mut asking = JoinSet::new();
    for task in 0..16 {
        let tools = tools.clone();
        asking.spawn(async move {
            for round in 0..50_u64 {
                let ask = match (task + round) % 3 {
                    0 => super::LOSE,
                    _ => Ask::Who,
                };
                let call = tools.clone().oneshot(ask);
                if round % 2 == 0 {
                    // Dropped after a few polls.
                    let _ = timeout(Duration::from_micros(200 * (round % 7)), call).await;
                } else {
                    let _ = call.await;
                }
            }
        });
    }
    let all = timeout(Duration::from_secs(120), asking.join_all());
    all.await.expect("no call is stuck");
}
