//! What a handle sees, and what it can do.

use super::{Ask, Dial, LOSE, MINUTE, SECOND, Server, exact, fail, good, refused, spawn, who};
use mcp_resilience::{
    Class, Failure,
    reconnect::{ConnectionState as State, ReconnectLayer},
};
use std::iter::repeat_with;
use tokio::{task::yield_now, time::sleep};

#[tokio::test(start_paused = true)]
async fn a_reset_ends_down_and_lets_the_next_call_dial_at_once() {
    let server = Server::new([refused()]);
    let tools = server.connect(ReconnectLayer::builder(()));
    let handle = tools.handle();
    assert_eq!(fail(&tools, Ask::Who).await.class(), Class::Fatal);
    assert!(matches!(handle.state(), State::Down { .. }));
    handle.reset();
    assert!(matches!(handle.state(), State::Idle));
    assert_eq!(who(&tools).await, 1);

    // Of a backoff too, also for calls that wait already.
    let server = Server::new([refused()]);
    let tools = server.connect(exact());
    let waiting = spawn(&tools, Ask::Who).await;
    sleep(SECOND / 4).await;
    assert!(matches!(tools.handle().state(), State::Failed { .. }));
    tools.handle().reset();
    assert_eq!(waiting.await.unwrap().unwrap(), 1);
    assert_eq!(server.dials(), [0, 250]);
}

#[tokio::test(start_paused = true)]
async fn a_reconnect_replaces_the_connection_and_leaves_running_calls_alone() {
    let server = Server::new([Dial::Works, Dial::Takes(SECOND), refused()]);
    let tools = server.connect(exact());
    let handle = tools.handle();
    assert_eq!(who(&tools).await, 1);
    let running = spawn(&tools, Ask::After(5 * SECOND, None)).await;
    handle.reconnect().await.unwrap();
    assert_eq!(handle.generation(), 2);
    assert_eq!(who(&tools).await, 2);
    assert_eq!(running.await.unwrap().unwrap(), 1);
    assert_eq!(server.dials(), [0, 0]);
    // One dial, and its own failure.
    let failure = handle.reconnect().await.unwrap_err();
    assert!(failure.chain().to_string().ends_with("connection refused"));
    handle.reconnect().await.unwrap();
    assert_eq!(server.dials().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_reconnect_joins_a_dial_in_progress() {
    let server = Server::new([Dial::Takes(SECOND)]);
    let tools = server.connect(exact());
    let waiting = spawn(&tools, Ask::Who).await;
    yield_now().await;
    tools.handle().reconnect().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), 1);
    assert_eq!(server.dials(), [0]);
}

#[tokio::test(start_paused = true)]
async fn nothing_brings_a_connection_back_after_the_shutdown() {
    let server = Server::new([]);
    let tools = server.connect(exact());
    let handle = tools.handle();
    who(&tools).await;
    handle.shutdown();
    handle.reset();
    let failure = handle.reconnect().await.unwrap_err();
    assert_eq!(failure.class(), Class::Cancelled);
    assert!(handle.state().is_closed());
    assert_eq!(server.dials(), [0]);
}

#[tokio::test(start_paused = true)]
async fn a_good_connection_that_is_lost_says_why_until_there_is_another() {
    let server = Server::new([]);
    let tools = server.connect(exact());
    let handle = tools.handle();
    good(&tools).await;
    let mut changes = handle.changes();
    let lost = fail(&tools, LOSE).await;
    let Some(State::Lost { failure }) = changes.next().await else {
        panic!("{:?}", handle.state());
    };
    assert_eq!(failure.class(), Class::Connection);
    assert_eq!(failure.to_string(), lost.to_string());
    assert_eq!(who(&tools).await, 2);
    assert!(handle.state().is_connected());
    // A reconnect of the user's is no loss.
    handle.reset();
    handle.reconnect().await.unwrap();
    assert!(matches!(handle.state(), State::Connected { generation: 3 }));
}

#[tokio::test(start_paused = true)]
async fn every_state_can_be_waited_for() {
    let fatal = Dial::Fails(Failure::fatal("wrong version").into());
    let server = Server::new([Dial::Takes(SECOND), Dial::Fails("401".into()), fatal]);
    let tools = server.connect(exact());
    let handle = tools.handle();
    assert!(matches!(handle.state(), State::Idle));
    let mut changes = handle.changes();
    let _first = spawn(&tools, Ask::Who).await;
    assert!(matches!(changes.next().await, Some(State::Connecting)));
    let connected = changes.wait_for(State::is_connected).await;
    assert!(matches!(
        connected,
        Some(State::Connected { generation: 1 })
    ));

    good(&tools).await;
    fail(&tools, LOSE).await;
    let mut failed = handle.changes();
    let _second = spawn(&tools, Ask::Who).await;
    let state = failed.wait_for(|state| matches!(state, State::Failed { .. }));
    let Some(State::Failed { failure, next_dial }) = state.await else {
        panic!("it failed");
    };
    assert!(failure.chain().to_string().ends_with("401"));
    let wait = next_dial - tokio::time::Instant::now();
    assert_eq!(wait, SECOND);
    let state = failed.wait_for(|state| matches!(state, State::Down { .. }));
    assert!(state.await.is_some());

    let mut last = handle.changes();
    drop(tools);
    sleep(MINUTE).await;
    assert!(matches!(last.next().await, Some(State::Closed)));
    assert!(last.next().await.is_none());
    assert!(last.wait_for(State::is_connected).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_jitter_that_panics_strands_no_call() {
    let server = Server::new(
        [Dial::Works]
            .into_iter()
            .chain(repeat_with(refused).take(2)),
    );
    let jitter = mcp_resilience::backoff::Jitter::by(|_| panic!("a jitter that panics"));
    let tools = server.connect(exact().jitter(jitter));
    who(&tools).await;
    fail(&tools, LOSE).await;
    assert_eq!(who(&tools).await, 2);
    assert_eq!(server.dials(), [0, 1000, 3000, 7000], "as without jitter");
}
