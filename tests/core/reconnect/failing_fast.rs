//! How long calls wait for a server that stays dead, and how they fail.

use super::{Ask, Dial, LOSE, MINUTE, MS, SECOND, Server, exact, fail, good, refused, who};
use mcp_resilience::{
    Class, Delivery, Failure,
    backoff::{Backoff, Jitter},
    failure::Stopped,
    reconnect::ReconnectLayer,
    retry::RetryLayer,
};
use std::{error::Error as _, io::ErrorKind, iter::repeat_with};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt};

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_after_a_failed_dial_waits_for_the_next_dial_and_not_longer() {
    let server = Server::new(repeat_with(refused).take(99));
    let tools = server.connect(exact().ready_timeout(2 * SECOND));
    // Dials at 0 and 1 s; the next comes after the ready_timeout.
    fail(&tools, Ask::Who).await;
    assert_eq!(server.begun.elapsed(), SECOND);
    for due in [3, 7, 11] {
        let failure = fail(&tools, Ask::Who).await;
        let chain = failure.chain().to_string();
        assert!(chain.ends_with("connection refused"), "{chain}");
        assert_eq!(failure.class(), Class::Connection);
        assert_eq!(failure.delivery(), Delivery::NotSent);
        assert!(server.begun.elapsed() <= due * SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_dead_costs_only_the_first_call_its_ready_timeout() {
    let server = Server::new(
        [Dial::Works]
            .into_iter()
            .chain(repeat_with(refused).take(999)),
    );
    let backoff = Backoff::new(SECOND, 30 * SECOND).unwrap();
    let settings = ReconnectLayer::builder(()).backoff(backoff);
    let tools = server.connect(settings.jitter(Jitter::none()));
    let retried = RetryLayer::builder().jitter(Jitter::none());
    let retried = retried.build().unwrap().layer(tools.clone());
    good(&tools).await;
    fail(&tools, LOSE).await;

    let begun = Instant::now();
    retried.clone().oneshot(Ask::Who).await.unwrap_err();
    assert!(begun.elapsed() <= 30 * SECOND);
    let dials = server.dials().len();
    for _ in 0..50 {
        let begun = Instant::now();
        let failure = retried.clone().oneshot(Ask::Who).await.unwrap_err();
        assert!(begun.elapsed() <= 5 * SECOND, "{:?}", begun.elapsed());
        assert_eq!(failure.attempts(), 1, "no repeat helps");
        assert_eq!(failure.stopped(), Some(Stopped::NotReady));
        assert!(
            failure.source().is_some(),
            "says what the last dial failed of"
        );
        sleep(5 * SECOND).await;
    }
    assert!(server.dials().len() > dials, "the server is still asked");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_costs_a_call_one_dial() {
    let hangs = || Dial::Takes(60 * MINUTE);
    let server = Server::new(
        [Dial::Works]
            .into_iter()
            .chain(repeat_with(hangs).take(999)),
    );
    let tools = server.connect(exact().dial_timeout(3 * SECOND));
    good(&tools).await;
    fail(&tools, LOSE).await;
    let first = fail(&tools, Ask::Who).await;
    assert_eq!(first.class(), Class::Timeout, "the dial's own failure");
    for _ in 0..10 {
        let begun = Instant::now();
        let failure = fail(&tools, Ask::Who).await;
        assert_eq!(failure.class(), Class::Timeout);
        assert_eq!(failure.delivery(), Delivery::NotSent);
        assert!(begun.elapsed() <= 7 * SECOND, "4 s, and 3 s for the dial");
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_heals_the_calls_that_come_in_it() {
    // Well again with the third dial, 3 s after the loss.
    let server = Server::new([Dial::Works, refused(), refused()]);
    let tools = server.connect(exact());
    let retried = RetryLayer::builder().jitter(Jitter::none());
    let retried = retried.build().unwrap().layer(tools.clone());
    good(&tools).await;
    fail(&tools, LOSE).await;
    let early = tokio::spawn(retried.clone().oneshot(Ask::Who));
    sleep(500 * MS).await;
    // One dial has failed. The next dial ends this call, and the retry repeats it.
    let later = tokio::spawn(retried.clone().oneshot(Ask::Who));
    assert_eq!(early.await.unwrap().unwrap(), 2);
    assert_eq!(later.await.unwrap().unwrap(), 2);
    assert_eq!(server.dials(), [0, 0, 1000, 3000]);
}

#[tokio::test(start_paused = true)]
async fn credentials_that_are_refused_twice_fail_the_first_call_and_keep_their_class() {
    let refused = || Dial::Fails(Failure::unauthorized("401: the key is not valid").into());
    let server = Server::new(
        [Dial::Works]
            .into_iter()
            .chain(repeat_with(refused).take(3)),
    );
    let tools = server.connect(exact());
    good(&tools).await;
    fail(&tools, LOSE).await;
    let begun = Instant::now();
    let failure = fail(&tools, Ask::Who).await;
    assert_eq!(begun.elapsed(), SECOND, "dials at 0 and 1 s");
    assert_eq!(failure.class(), Class::Unauthorized);
    assert_eq!(failure.delivery(), Delivery::NotSent);
    assert_eq!(failure.to_string(), "401: the key is not valid");
    // An hour later the key is valid again, at the second dial.
    sleep(60 * MINUTE).await;
    assert_eq!(fail(&tools, Ask::Who).await.class(), Class::Unauthorized);
    assert_eq!(who(&tools).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_a_few_times_and_dies_again_and_again_is_backed_off() {
    for answers in [1, 2, 5] {
        let server = Server::new([]);
        let tools = server.connect(exact());
        while server.begun.elapsed() < MINUTE {
            for _ in 0..answers {
                if tools.clone().oneshot(Ask::Who).await.is_err() {
                    sleep(SECOND).await;
                }
            }
            let _ = tools.clone().oneshot(LOSE).await;
        }
        // Waits of 1, 2, and 4 s from then on; two dials for each if there were answers enough.
        let dials = server.dials().len();
        assert!(dials <= 36, "{answers}: {:?}", server.dials());
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_file_of_a_socket_is_told_with_its_own_error() {
    let missing = || Dial::Fails(std::io::Error::from(ErrorKind::NotFound).into());
    let server = Server::new(
        [Dial::Works]
            .into_iter()
            .chain(repeat_with(missing).take(99)),
    );
    let tools = server.connect(exact());
    good(&tools).await;
    fail(&tools, LOSE).await;
    let chain = fail(&tools, Ask::Who).await.chain().to_string();
    assert!(chain.ends_with("entity not found"), "{chain}");
}
