//! A connection without an answer is probed before it is replaced.

use super::{Answering, Ask, Connection, MINUTE, MS, SECOND, Server, exact};
use mcp_resilience::{
    Class, Failure,
    failure::RpcError,
    reconnect::{Reconnect, ReconnectBuilder},
};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};
use tokio::time::{sleep, timeout};
use tower::{BoxError, Layer, ServiceExt, service_fn};

/// How a probe goes.
#[derive(Clone, Copy, Debug)]
enum Pong {
    Answers,
    AnswersAnError,
    Fails,
    FailsWithoutAName,
    Hangs,
    Panics,
}

struct Probed {
    tools: Reconnect<Connection>,
    probes: Arc<AtomicU32>,
    server: Server,
}

fn probed(pong: Pong, settings: ReconnectBuilder<()>) -> Probed {
    let server = Server::new([]);
    let probes = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&probes);
    let probe = move |_: Connection| {
        count.fetch_add(1, Relaxed);
        let answer: Answering = Box::pin(async move {
            match pong {
                Pong::Answers => Ok(0),
                Pong::AnswersAnError => {
                    sleep(SECOND).await;
                    Err(RpcError::new(-32601, "Method not found", None).into())
                }
                Pong::Fails => Err(Failure::connection("reset by peer").into()),
                Pong::FailsWithoutAName => Err("no pong".into()),
                Pong::Hangs => std::future::pending().await,
                Pong::Panics => panic!("a probe that panics"),
            }
        });
        async move { answer.await.map(drop) }
    };
    let connector = {
        let server = server.clone();
        service_fn(move |()| server.clone().dial())
    };
    let tools = settings.probe(probe).build().unwrap().layer(connector);
    Probed {
        tools,
        probes,
        server,
    }
}

impl Probed {
    async fn time_out(&self) {
        let ask = Ask::Fail(Class::Timeout);
        let failure = self.tools.clone().oneshot(ask).await.unwrap_err();
        assert_eq!(failure.class(), Class::Timeout, "its own failure goes up");
    }

    /// Sends a call, and drops it.
    async fn give_up(&self) {
        let call = self.tools.clone().oneshot(Ask::After(MINUTE, None));
        timeout(SECOND, call).await.unwrap_err();
    }

    async fn who(&self) -> u64 {
        self.tools.clone().oneshot(Ask::Who).await.unwrap()
    }

    fn probes(&self) -> u32 {
        self.probes.load(Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_on_a_connection_that_answers_the_probe_keeps_it() {
    for pong in [Pong::Answers, Pong::AnswersAnError] {
        let probed = probed(pong, exact());
        for round in 1..=4 {
            probed.time_out().await;
            sleep(10 * SECOND).await;
            assert_eq!(probed.who().await, 1, "{pong:?}");
            assert_eq!(probed.probes(), round, "{pong:?}");
        }
        assert_eq!(probed.server.dials().len(), 1, "{pong:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_on_a_connection_that_fails_the_probe_retires_it() {
    use Pong::{Fails, FailsWithoutAName, Hangs, Panics};
    for pong in [Fails, FailsWithoutAName, Hangs, Panics] {
        let probed = probed(pong, exact().probe_timeout(2 * SECOND));
        probed.time_out().await;
        assert!(
            probed.tools.handle().is_connected(),
            "{pong:?}: not at once"
        );
        sleep(2 * SECOND + MS).await;
        assert!(!probed.tools.handle().is_connected(), "{pong:?}");
        assert_eq!(probed.who().await, 2, "{pong:?}");
        assert_eq!(probed.probes(), 1, "{pong:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_go_on_during_a_probe_and_an_answer_proves_the_connection_alive() {
    let probed = probed(Pong::Hangs, exact().probe_timeout(5 * SECOND));
    probed.time_out().await;
    probed.time_out().await;
    sleep(SECOND).await;
    assert_eq!(probed.who().await, 1);
    sleep(10 * SECOND).await;
    assert_eq!(probed.who().await, 1);
    assert_eq!(probed.probes(), 1, "one at a time");
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_given_up_in_a_row_probe_the_connection() {
    let probed = probed(Pong::Hangs, exact());
    for _ in 0..2 {
        probed.give_up().await;
        probed.give_up().await;
        assert_eq!(probed.who().await, 1, "an answer in between");
    }
    for expected in [0, 0, 1] {
        assert_eq!(probed.probes(), 0);
        probed.give_up().await;
        sleep(MS).await;
        assert_eq!(probed.probes(), expected);
    }
    sleep(5 * SECOND).await;
    assert_eq!(probed.who().await, 2);
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_given_up_in_a_row_retire_a_connection_that_cannot_be_probed() {
    let server = Server::new([]);
    for (settings, expected) in [
        (exact(), [1, 1, 1, 2]),
        (exact().give_up_limit(1), [1, 2, 3, 4]),
        (exact().no_give_up_limit(), [1, 1, 1, 1]),
    ] {
        let tools = Server::new([]).connect(settings);
        for expected in expected {
            let call = tools.clone().oneshot(Ask::After(MINUTE, None));
            // The waits between the dials are at most 4 s.
            timeout(10 * SECOND, call).await.unwrap_err();
            let generation = tools.handle().generation();
            assert_eq!(generation, expected);
        }
    }
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_dropped_before_they_were_sent_count_for_nothing() {
    let server = Server::new([super::Dial::Takes(MINUTE)]);
    let tools = server.connect(exact().give_up_limit(1).dial_timeout(2 * MINUTE));
    for _ in 0..5 {
        timeout(SECOND, tools.clone().oneshot(Ask::Who))
            .await
            .unwrap_err();
        drop(tools.clone().oneshot(Ask::Who));
    }
    sleep(MINUTE).await;
    for _ in 0..5 {
        drop(tools.clone().oneshot(Ask::Who));
    }
    assert_eq!(super::who(&tools).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_probe_ends_with_its_connection() {
    let probed = probed(Pong::Hangs, exact().probe_timeout(MINUTE));
    probed.time_out().await;
    sleep(MS).await;
    assert_eq!(probed.probes(), 1);
    probed.tools.handle().shutdown();
    sleep(MS).await;
    assert_eq!(probed.server.alive(), 0, "the probe held it");
}

#[tokio::test(start_paused = true)]
async fn a_request_through_the_handle_that_is_dropped_counts_as_given_up() {
    let server = Server::new([]);
    let tools = server.connect(exact().give_up_limit(1));
    let handle = tools.handle();
    let hangs = |_: Connection| std::future::pending::<Result<(), BoxError>>();
    timeout(SECOND, handle.with(hangs)).await.unwrap_err();
    assert!(!handle.is_connected());
}
