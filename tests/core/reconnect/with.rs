//! Requests on the connection that are not calls.

use super::{Ask, Connection, LOSE, Server, exact, fail, who};
use mcp_resilience::{Class, Delivery, Failure};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

/// A request that fails like this at first, and then gives the number of its connection; and how
/// often it was made.
fn fails_at_first(
    failure: impl Fn() -> Failure,
) -> (
    impl FnMut(Connection) -> std::future::Ready<Result<u64, Failure>>,
    Arc<AtomicU32>,
) {
    let made = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&made);
    let request = move |connection: Connection| {
        let is_first = count.fetch_add(1, Relaxed) == 0;
        std::future::ready(if is_first {
            Err(failure())
        } else {
            Ok(connection.number)
        })
    };
    (request, made)
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_the_connection_and_runs_on_it() {
    let server = Server::new([]);
    let tools = server.connect(exact());
    let number = tools
        .handle()
        .with(async |connection: Connection| Ok::<_, Failure>(connection.number))
        .await;
    assert_eq!(number.unwrap(), 1);
    assert_eq!(server.dials(), [0]);
}

#[tokio::test(start_paused = true)]
async fn a_request_of_the_users_is_never_made_again_and_a_lost_connection_is_replaced() {
    let closed = || Failure::connection("closed").with_delivery(Delivery::NotSent);
    let cases: [fn() -> Failure; 2] = [closed, || {
        Failure::session_lost("Session not found").before_running()
    }];
    for failure in cases {
        let server = Server::new([]);
        let tools = server.connect(exact());
        who(&tools).await;
        let (request, made) = fails_at_first(failure);
        let class = failure().class();
        let failure = tools.handle().with(request).await.unwrap_err();
        assert_eq!(failure.class(), class);
        assert_eq!(made.load(Relaxed), 1, "it may be the second of several");
        assert_eq!(who(&tools).await, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_may_have_run_is_not_made_again_and_its_connection_is_replaced() {
    let server = Server::new([]);
    let tools = server.connect(exact());
    who(&tools).await;
    let (request, made) = fails_at_first(|| Failure::connection("reset by peer"));
    let failure = tools.handle().with(request).await.unwrap_err();
    assert_eq!(failure.class(), Class::Connection);
    assert_eq!(made.load(Relaxed), 1);
    assert_eq!(who(&tools).await, 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_request_leaves_the_connection_in_place() {
    let server = Server::new([]);
    let tools = server.connect(exact());
    let refused = |_: Connection| std::future::ready(Err::<(), _>(Failure::forbidden("no")));
    let failure = tools.handle().with(refused).await.unwrap_err();
    assert_eq!(failure.class(), Class::Forbidden);
    assert_eq!(who(&tools).await, 1);
}

#[tokio::test(start_paused = true)]
async fn the_shutdown_ends_the_wait_of_a_request() {
    let server = Server::new([]);
    let tools = server.connect(exact());
    fail(&tools, LOSE).await;
    let handle = tools.handle();
    let waiting = tokio::spawn(async move {
        let ask = async |_: Connection| Ok::<_, Failure>(Ask::Who);
        handle.with(ask).await.map(drop)
    });
    tokio::task::yield_now().await;
    tools.handle().shutdown();
    let failure = waiting.await.unwrap().unwrap_err();
    assert_eq!(failure.class(), Class::Cancelled);
    assert_eq!(failure.delivery(), Delivery::NotSent);
}
