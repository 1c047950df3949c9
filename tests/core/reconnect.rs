//! One connection for all clones, its states, and the calls in the meantime.

mod failing_fast;
mod handle;
mod observed;
mod probing;
mod threads;
mod waiting;
mod with;

use crate::support::Strict;
use mcp_resilience::{
    Class, Delivery, Failure,
    backoff::{Backoff, Jitter},
    call::ToolCall,
    reconnect::{Reconnect, ReconnectBuilder, ReconnectHandle, ReconnectLayer},
    retry::RetryLayer,
};
use std::{
    collections::VecDeque,
    error::Error as _,
    future::pending,
    io::{Error, ErrorKind},
    iter::repeat_with,
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, Weak},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    sync::Barrier,
    task::{JoinHandle, JoinSet, yield_now},
    time::{Instant, sleep},
};
use tower::{BoxError, Layer, Service, ServiceExt, limit::ConcurrencyLimit, service_fn};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

type Answering = Pin<Box<dyn Future<Output = Result<u64, BoxError>> + Send>>;

/// The kinds of calls. The answer is the number of the connection.
#[derive(Clone, Debug)]
enum Ask {
    Who,
    Fail(Class),
    After(Duration, Option<Class>),
    LoseAt(Arc<Barrier>),
}

const LOSE: Ask = Ask::Fail(Class::Connection);

impl ToolCall for Ask {
    fn name(&self) -> &'static str {
        "ask"
    }
}

#[derive(Clone, Debug)]
struct Connection {
    number: u64,
    is_broken: bool,
    _alive: Arc<()>,
}

impl Service<Ask> for Connection {
    type Response = u64;
    type Error = BoxError;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let broken = || Err(Failure::connection("broken pipe").into());
        Poll::Ready(if self.is_broken { broken() } else { Ok(()) })
    }

    fn call(&mut self, ask: Ask) -> Answering {
        let number = self.number;
        Box::pin(async move {
            let class = match ask {
                Ask::Who => return Ok(number),
                Ask::Fail(class) => class,
                Ask::After(time, class) => {
                    sleep(time).await;
                    let Some(class) = class else {
                        return Ok(number);
                    };
                    class
                }
                Ask::LoseAt(barrier) => {
                    barrier.wait().await;
                    Class::Connection
                }
            };
            Err(Failure::new(class, "as told").into())
        })
    }
}

/// How one dial goes.
enum Dial {
    Works,
    /// Works, but what it gives is broken.
    Breaks,
    Takes(Duration),
    Fails(BoxError),
    Hangs(Arc<()>),
    /// Works after this.
    Does(Box<dyn FnOnce() + Send>),
    Panics,
}

fn refused() -> Dial {
    Dial::Fails(Error::from(ErrorKind::ConnectionRefused).into())
}

/// A server that counts its dials, and keeps an eye on its connections.
#[derive(Clone)]
struct Server {
    begun: Instant,
    steps: Arc<Mutex<VecDeque<Dial>>>,
    dials: Arc<Mutex<Vec<u128>>>,
    connections: Arc<Mutex<Vec<Weak<()>>>>,
}

impl Server {
    /// The dials go so, and work after that.
    fn new(steps: impl IntoIterator<Item = Dial>) -> Self {
        Self {
            begun: Instant::now(),
            steps: Arc::new(Mutex::new(steps.into_iter().collect())),
            dials: Arc::default(),
            connections: Arc::default(),
        }
    }

    fn connect(&self, settings: ReconnectBuilder<()>) -> Reconnect<Connection> {
        let server = self.clone();
        let layer = settings.build().unwrap();
        // Strict: the connector itself is to be made ready too.
        layer.layer(Strict::new(service_fn(move |()| server.clone().dial())))
    }

    async fn dial(self) -> Result<Connection, BoxError> {
        let begun = self.begun.elapsed().as_millis();
        self.dials.lock().unwrap().push(begun);
        let step = self.steps.lock().unwrap().pop_front();
        let is_broken = matches!(step, Some(Dial::Breaks));
        match step {
            None | Some(Dial::Works | Dial::Breaks) => {}
            Some(Dial::Takes(time)) => sleep(time).await,
            Some(Dial::Fails(error)) => return Err(error),
            Some(Dial::Hangs(_held)) => pending().await,
            Some(Dial::Does(this)) => this(),
            Some(Dial::Panics) => panic!("a connector that panics"),
        }
        let alive = Arc::new(());
        let mut connections = self.connections.lock().unwrap();
        connections.push(Arc::downgrade(&alive));
        Ok(Connection {
            number: connections.len() as u64,
            is_broken,
            _alive: alive,
        })
    }

    /// When it was dialled, in milliseconds.
    fn dials(&self) -> Vec<u128> {
        self.dials.lock().unwrap().clone()
    }

    /// How many connections there still are.
    fn alive(&self) -> usize {
        let connections = self.connections.lock().unwrap();
        connections
            .iter()
            .filter(|alive| alive.strong_count() > 0)
            .count()
    }
}

/// Waits of 1, 2 and then 4 s to the millisecond, from the first dial on.
fn exact() -> ReconnectBuilder<()> {
    ReconnectLayer::builder(())
        .backoff(Backoff::new(SECOND, 4 * SECOND).unwrap())
        .jitter(Jitter::none())
        .retry_first_dial()
}

type Tools = Reconnect<Connection>;
type Outcome = Result<u64, Failure>;

async fn who(tools: &Tools) -> u64 {
    tools.clone().oneshot(Ask::Who).await.unwrap()
}

/// Makes the connection good: two answers.
async fn good(tools: &Tools) -> u64 {
    who(tools).await;
    who(tools).await
}

async fn fail(tools: &Tools, ask: Ask) -> Failure {
    tools.clone().oneshot(ask).await.unwrap_err()
}

/// Asks from this many tasks at once.
async fn ask_all(tools: &Tools, callers: usize, ask: Ask) -> Vec<Outcome> {
    let asking = repeat_with(|| tools.clone().oneshot(ask.clone())).take(callers);
    asking.collect::<JoinSet<_>>().join_all().await
}

/// Asks in another task, and lets it begin.
async fn spawn(tools: &Tools, ask: Ask) -> JoinHandle<Outcome> {
    let task = tokio::spawn(tools.clone().oneshot(ask));
    yield_now().await;
    task
}

#[tokio::test(start_paused = true)]
async fn a_thousand_first_callers_share_one_dial_and_a_loss_they_all_see_costs_one_more() {
    let server = Server::new([Dial::Takes(SECOND), Dial::Takes(SECOND)]);
    let tools = server.connect(exact());
    let lose = Ask::After(SECOND, Some(Class::Connection));
    for outcome in ask_all(&tools, 1000, lose).await {
        assert_eq!(outcome.unwrap_err().to_string(), "as told");
    }
    assert_eq!(server.begun.elapsed(), 2 * SECOND);
    for outcome in ask_all(&tools, 1000, Ask::Who).await {
        assert_eq!(outcome.unwrap(), 2);
    }
    // The first connection never answered, so the second has to wait for the backoff.
    assert_eq!(server.dials(), [0, 3000]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_loss_on_several_threads_costs_one_dial_and_strands_no_call() {
    let server = Server::new([]);
    // Time is real here: the waits are short, should there be any.
    let backoff = Backoff::new(MS, MS).unwrap();
    let tools = server.connect(ReconnectLayer::builder(()).backoff(backoff));
    for round in 1..=20 {
        for outcome in ask_all(&tools, 50, Ask::Who).await {
            assert_eq!(outcome.unwrap(), round);
        }
        let when_all_run = Ask::LoseAt(Arc::new(Barrier::new(50)));
        for outcome in ask_all(&tools, 50, when_all_run).await {
            outcome.unwrap_err();
        }
    }
    assert_eq!(server.dials().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_waiter_strands_no_other_call() {
    let cases = [
        ("the first", vec![0]),
        ("one in the middle", vec![4]),
        ("the last", vec![9]),
        ("all but one", (1..10).collect()),
        ("all", (0..10).collect()),
    ];
    for (case, dropped) in cases {
        let server = Server::new([Dial::Takes(SECOND)]);
        let tools = server.connect(exact());
        let mut waiters = Vec::new();
        for _ in 0..10 {
            waiters.push(spawn(&tools, Ask::Who).await);
        }
        sleep(500 * MS).await;
        for &number in &dropped {
            waiters[number].abort();
        }
        for (number, waiter) in waiters.into_iter().enumerate() {
            match waiter.await {
                Ok(answer) => assert_eq!(answer.unwrap(), 1, "{case}: {number}"),
                Err(_) => assert!(dropped.contains(&number), "{case}: {number}"),
            }
        }
        assert_eq!(who(&tools).await, 1, "{case}: the dial went on");
        assert_eq!(server.begun.elapsed(), SECOND, "{case}");
        assert_eq!(server.dials(), [0], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_on_a_retired_connection_finish_release_it_and_change_nothing_when_they_fail() {
    let server = Server::new([]);
    let tools = server.connect(exact());
    assert_eq!(good(&tools).await, 1);
    let slow = spawn(&tools, Ask::After(5 * SECOND, None)).await;
    let late = spawn(&tools, Ask::After(8 * SECOND, Some(Class::Connection))).await;
    fail(&tools, LOSE).await;
    assert_eq!(who(&tools).await, 2);

    assert_eq!(slow.await.unwrap().unwrap(), 1, "it is left alone");
    assert_eq!(server.alive(), 2, "one call still runs on the first");
    late.await.unwrap().unwrap_err();
    assert_eq!(server.begun.elapsed(), 8 * SECOND);
    assert_eq!(server.alive(), 1);
    assert_eq!(who(&tools).await, 2);
    assert_eq!(server.dials(), [0, 0]);

    fail(&tools, LOSE).await;
    assert_eq!(server.alive(), 0, "nothing runs on the second");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_runs_leaves_the_connection_to_the_others() {
    let server = Server::new([]);
    let tools = server.connect(exact());
    let running = spawn(&tools, Ask::After(MINUTE, None)).await;
    yield_now().await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    assert_eq!(who(&tools).await, 1);
    assert_eq!(server.dials(), [0]);
}

#[tokio::test(start_paused = true)]
async fn only_a_lost_connection_or_session_and_a_timeout_retire_the_connection() {
    use Class::{Connection, SessionLost, Timeout};
    for class in Class::all() {
        let server = Server::new([]);
        let tools = server.connect(exact());
        let failure = fail(&tools, Ask::Fail(class)).await;
        assert_eq!(failure.class(), class, "the call's own failure goes up");
        assert_eq!(failure.delivery(), class.delivery(), "{class}");
        let retires = matches!(class, Connection | Timeout | SessionLost);
        assert_eq!(tools.handle().is_connected(), !retires, "{class}");
        assert_eq!(who(&tools).await, 1 + u64::from(retires), "{class}");
    }
}

#[tokio::test(start_paused = true)]
async fn dials_that_fail_are_spaced_by_the_backoff_until_one_works() {
    let too_slow = Dial::Takes(10 * SECOND + MS);
    let server = Server::new(repeat_with(refused).take(4).chain([too_slow]));
    let tools = server.connect(exact().ready_timeout(MINUTE));
    assert_eq!(who(&tools).await, 1);
    assert_eq!(server.dials(), [0, 1000, 3000, 7000, 11_000, 25_000]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_never_answered_counts_as_a_dial_that_failed() {
    let server = Server::new([]);
    let tools = server.connect(exact());
    for _ in 0..4 {
        fail(&tools, LOSE).await;
    }
    assert_eq!(
        server.dials(),
        [0, 1000, 3000, 7000],
        "dies on its first call"
    );

    let server = Server::new([Dial::Breaks, Dial::Breaks, Dial::Breaks]);
    let tools = server.connect(exact());
    assert_eq!(
        who(&tools).await,
        4,
        "a call that never left goes to the next"
    );
    assert_eq!(server.dials(), [0, 1000, 3000, 7000], "is never ready");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_only_connections_that_are_never_ready_waits_for_no_longer_than_its_ready_timeout()
 {
    let server = Server::new(repeat_with(|| Dial::Breaks).take(100));
    let tools = server.connect(exact().ready_timeout(10 * SECOND));
    let failure = fail(&tools, Ask::Who).await;
    assert_eq!(failure.class(), Class::Connection);
    assert_eq!(failure.delivery(), Delivery::NotSent);
    assert!(
        failure.source().is_some(),
        "and says what was wrong with the last"
    );
    assert_eq!(server.dials(), [0, 1000, 3000, 7000]);
}

#[tokio::test(start_paused = true)]
async fn after_a_good_connection_the_next_dial_is_due_at_once() {
    let answer = Ask::Who;
    let failure = Ask::Fail(Class::Tool);
    let lasts = 20 * SECOND;
    let cases = [
        (
            "two answers",
            vec![answer.clone(), answer.clone()],
            SECOND,
            1000,
        ),
        (
            "answers that are failures",
            vec![failure.clone(), failure],
            SECOND,
            1000,
        ),
        ("one answer", vec![answer.clone()], SECOND, 2000),
        ("one answer, but it lasted", vec![answer], lasts, 20_000),
        ("no answer, too young", vec![], 19_999 * MS, 20_999),
        ("no answer, but it lasted", vec![], lasts, 20_000),
    ];
    for (case, asks, at, expected) in cases {
        let server = Server::new([]);
        let tools = server.connect(exact().stable_after(lasts));
        tools.handle().connect().await.unwrap();
        for ask in asks {
            let _ = tools.clone().oneshot(ask).await;
        }
        sleep(at).await;
        fail(&tools, LOSE).await;
        assert_eq!(who(&tools).await, 2, "{case}");
        assert_eq!(server.dials(), [0, expected], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_outage_begins_with_the_shortest_wait_again() {
    let server = Server::new((0..20).flat_map(|_| [Dial::Works, refused()]));
    let tools = server.connect(exact());
    for _ in 0..10 {
        good(&tools).await;
        // Younger than the first wait, it would not end the backoff.
        sleep(SECOND).await;
        fail(&tools, LOSE).await;
    }
    assert_eq!(server.begun.elapsed(), (10 + 9) * SECOND);
    assert_eq!(server.dials().len(), 19);
}

/// Left by the only call that waits, after so long. The first dial fails after 1 s, the next is
/// due after 2 s.
async fn nobody_dials_when_left_after(time: Duration) {
    let server = Server::new([Dial::Takes(MINUTE)]);
    let tools = server.connect(exact().dial_timeout(SECOND));
    let waiter = spawn(&tools, Ask::Who).await;
    sleep(time).await;
    waiter.abort();
    sleep(MINUTE).await;
    assert_eq!(server.dials(), [0], "left after {time:?}");
    assert_eq!(who(&tools).await, 1, "a later call");
    assert_eq!(server.dials().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_fails_without_a_waiting_call_is_the_last() {
    nobody_dials_when_left_after(500 * MS).await;
}

#[tokio::test(start_paused = true)]
async fn a_due_dial_without_a_waiting_call_is_not_begun() {
    nobody_dials_when_left_after(1500 * MS).await;
}

#[tokio::test(start_paused = true)]
async fn the_first_dial_that_fails_is_fatal_for_good_and_says_why() {
    let fatal = Dial::Fails(Failure::fatal("wrong version").into());
    let cases = [
        ("refused", refused(), "connection refused"),
        ("too slow", Dial::Takes(MINUTE), "did not accept within 10s"),
        ("panics", Dial::Panics, "panicked"),
        ("fatal itself", fatal, "wrong version"),
    ];
    for (case, dial, reason) in cases {
        let server = Server::new([dial]);
        let tools = server.connect(ReconnectLayer::builder(()));
        for outcome in ask_all(&tools, 10, Ask::Who).await {
            let failure = outcome.unwrap_err();
            assert_eq!(failure.class(), Class::Fatal, "{case}");
            let chain = failure.chain().to_string();
            assert!(chain.contains(reason), "{case}: {chain}");
        }
        sleep(MINUTE).await;
        assert_eq!(
            fail(&tools, Ask::Who).await.class(),
            Class::Fatal,
            "{case}: later"
        );
        let failure = tools.handle().connect().await.unwrap_err();
        assert_eq!(failure.class(), Class::Fatal, "{case}: handle");
        assert_eq!(server.dials(), [0], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_dial_that_failed_has_sent_nothing_and_says_so() {
    let tools = Server::new([refused()]).connect(ReconnectLayer::builder(()));
    let failure = fail(&tools, Ask::Who).await;
    assert_eq!(failure.delivery(), Delivery::NotSent);
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_of_a_redial_ends_it_for_good() {
    let fatal = Dial::Fails(Failure::fatal("out of memory").into());
    let server = Server::new([Dial::Works, fatal]);
    let tools = server.connect(exact());
    good(&tools).await;
    fail(&tools, LOSE).await;
    for _ in 0..3 {
        let failure = fail(&tools, Ask::Who).await;
        assert_eq!(failure.class(), Class::Fatal);
        assert_eq!(failure.delivery(), Delivery::NotSent);
        sleep(MINUTE).await;
    }
    assert_eq!(server.dials(), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn no_failure_of_a_redial_but_a_fatal_one_is_for_good() {
    for class in Class::all().filter(|class| *class != Class::Fatal) {
        let answer = Failure::new(class, "as told").with_retryable(true);
        let server = Server::new([Dial::Works, Dial::Fails(answer.into())]);
        let tools = server.connect(exact());
        good(&tools).await;
        fail(&tools, LOSE).await;
        assert_eq!(who(&tools).await, 2, "{class}");
        assert_eq!(server.dials(), [0, 0, 1000], "{class}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_dial_comes_earlier_than_the_server_asked() {
    let busy = || {
        Dial::Fails(
            Failure::rate_limited(Some(5 * SECOND))
                .before_running()
                .into(),
        )
    };
    let server = Server::new([busy(), busy()]);
    let tools = server.connect(exact());
    assert_eq!(who(&tools).await, 1);
    assert_eq!(
        server.dials(),
        [0, 6000, 13_000],
        "5 s each, and the backoff's 1 and 2"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_wait_for_a_dial_that_is_due_in_the_far_future() {
    let busy = Dial::Fails(
        Failure::rate_limited(Some(Duration::MAX))
            .before_running()
            .into(),
    );
    let server = Server::new([busy]);
    let failure = fail(&server.connect(exact()), Ask::Who).await;
    assert_eq!(failure.class(), Class::RateLimited);
    assert_eq!(server.dials(), [0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_would_not_wait_as_long_as_the_server_asked_is_told_at_once() {
    let busy = Dial::Fails(Failure::rate_limited(Some(MINUTE)).before_running().into());
    let server = Server::new([busy]);
    let tools = server.connect(exact());
    for (after, remains) in [(Duration::ZERO, MINUTE), (30 * SECOND, 30 * SECOND)] {
        sleep(after).await;
        let begun = Instant::now();
        let failure = fail(&tools, Ask::Who).await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert_eq!(failure.class(), Class::RateLimited);
        assert_eq!(failure.delivery(), Delivery::NotSent);
        assert_eq!(failure.retry_after(), Some(remains));
    }
    sleep(27 * SECOND).await;
    assert_eq!(who(&tools).await, 1, "the last 4 s are waited for");
    assert_eq!(server.dials(), [0, 61_000]);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_error_of_a_dial_may_heal() {
    let os = |kind: ErrorKind| BoxError::from(Error::from(kind));
    // A socket may be missing because its server has yet to start.
    let errors = [
        os(ErrorKind::NotFound),
        os(ErrorKind::PermissionDenied),
        "no such host".into(),
    ];
    for error in errors {
        let case = error.to_string();
        let server = Server::new([Dial::Works, Dial::Fails(error)]);
        let tools = server.connect(exact());
        good(&tools).await;
        fail(&tools, LOSE).await;
        assert_eq!(who(&tools).await, 2, "{case}");
        assert_eq!(server.dials(), [0, 0, 1000], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connector_that_panics_strands_no_call_and_is_tried_again() {
    let server = Server::new([Dial::Panics]);
    let tools = server.connect(exact());
    for outcome in ask_all(&tools, 10, Ask::Who).await {
        assert_eq!(outcome.unwrap(), 1);
    }
    assert_eq!(server.dials(), [0, 1000]);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_no_longer_than_its_ready_timeout_and_learns_what_the_last_dial_failed_of() {
    let server = Server::new(repeat_with(refused).take(9));
    let tools = server.connect(exact().ready_timeout(5 * SECOND));
    let failure = fail(&tools, Ask::Who).await;
    // The next dial would come after 7 s: no wait begins that is too long.
    assert_eq!(server.begun.elapsed(), 3 * SECOND);
    assert_eq!(failure.class(), Class::Connection);
    assert_eq!(failure.delivery(), Delivery::NotSent);
    let chain = failure.chain().to_string();
    assert!(chain.ends_with("connection refused"), "{chain}");
}

#[tokio::test(start_paused = true)]
async fn retry_repeats_neither_a_call_that_may_have_run_nor_one_that_waited_as_long_as_it_would() {
    let retry = RetryLayer::builder().jitter(Jitter::none());
    let retry = retry.build().unwrap();
    // A call that never left needs no repeat: it goes to the next connection by itself.
    let cases = [
        ("not ready", Dial::Breaks, Ask::Who, Ok(2)),
        ("no connection", Dial::Takes(MINUTE), Ask::Who, Err(1)),
        ("lost", Dial::Works, LOSE, Err(1)),
    ];
    for (case, dial, ask, expected) in cases {
        let server = Server::new([dial]);
        let tools = server.connect(exact().ready_timeout(8 * SECOND));
        let outcome = retry.layer(tools.clone()).oneshot(ask).await;
        let outcome = outcome.map_err(|failure| failure.attempts());
        assert_eq!(outcome, expected, "{case}");
        // Repeated or not, the next call has a good connection.
        who(&tools).await;
        assert_eq!(server.dials().len(), 2, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_wins_over_a_dial_and_over_the_wait_for_one() {
    let held = Arc::new(());
    let hangs = Dial::Hangs(Arc::clone(&held));
    for (case, dial) in [("a dial", hangs), ("a wait", refused())] {
        let server = Server::new([dial]);
        let tools = server.connect(exact());
        let waiters = [spawn(&tools, Ask::Who).await, spawn(&tools, Ask::Who).await];
        sleep(500 * MS).await;
        tools.handle().shutdown();
        for waiter in waiters {
            let failure = waiter.await.unwrap().unwrap_err();
            assert_eq!(failure.class(), Class::Cancelled, "{case}");
        }
        assert_eq!(server.begun.elapsed(), 500 * MS, "{case}: at once");
        assert_eq!(Arc::strong_count(&held), 1, "{case}: the dial is dropped");
        sleep(MINUTE).await;
        assert_eq!(
            fail(&tools, Ask::Who).await.class(),
            Class::Cancelled,
            "{case}"
        );
        assert!(tools.handle().connect().await.is_err(), "{case}");
        assert_eq!(server.dials(), [0], "{case}: nothing comes back");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_works_just_after_the_shutdown_brings_nothing_back() {
    let handle = Arc::new(OnceLock::<ReconnectHandle<Connection>>::new());
    let shut = Arc::clone(&handle);
    // Too late for the dial to be stopped.
    let dial = Dial::Does(Box::new(move || shut.get().unwrap().shutdown()));
    let server = Server::new([dial]);
    let tools = server.connect(exact());
    handle.set(tools.handle()).unwrap();
    assert_eq!(fail(&tools, Ask::Who).await.class(), Class::Cancelled);
    assert_eq!(fail(&tools, Ask::Who).await.class(), Class::Cancelled);
    assert_eq!(tools.handle().generation(), 0);
    assert_eq!(server.alive(), 0);
}

#[tokio::test(start_paused = true)]
async fn shutdown_lets_calls_finish_and_then_the_connection_goes() {
    let server = Server::new([]);
    let tools = server.connect(exact());
    who(&tools).await;
    let slow = spawn(&tools, Ask::After(5 * SECOND, None)).await;
    tools.handle().shutdown();
    assert_eq!(fail(&tools, Ask::Who).await.class(), Class::Cancelled);
    assert_eq!(server.alive(), 1);
    assert_eq!(slow.await.unwrap().unwrap(), 1);
    assert_eq!(server.alive(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_last_clone_ends_the_dial_but_a_call_alone_keeps_it() {
    let held = Arc::new(());
    let server = Server::new([Dial::Hangs(Arc::clone(&held))]);
    let tools = server.connect(exact());
    let handle = tools.handle();
    let waiter = spawn(&tools, Ask::Who).await;
    drop(tools);
    sleep(SECOND).await;
    assert_eq!(Arc::strong_count(&held), 2, "the dial runs");
    waiter.abort();
    sleep(MS).await;
    assert_eq!(Arc::strong_count(&held), 1, "the dial is dropped");
    let failure = handle.connect().await.unwrap_err();
    assert_eq!(failure.class(), Class::Cancelled, "no handle keeps it");
    assert_eq!(server.dials(), [0]);
}

#[tokio::test(start_paused = true)]
async fn a_handle_connects_before_the_first_call_and_knows_how_it_stands() {
    let server = Server::new([Dial::Takes(SECOND)]);
    let tools = server.connect(ReconnectLayer::builder(()));
    let handle = tools.handle();
    let state = || (handle.is_connected(), handle.generation());
    assert_eq!(state(), (false, 0));
    handle.connect().await.unwrap();
    assert_eq!(state(), (true, 1));
    handle.connect().await.unwrap();
    assert_eq!(who(&tools).await, 1);
    assert_eq!(server.dials(), [0]);
    fail(&tools, LOSE).await;
    assert_eq!(state(), (false, 1));
}

#[test]
fn a_dial_that_ended_with_its_runtime_strands_no_call() {
    let runtime = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap()
    };
    let first = runtime();
    let tools = first.block_on(async {
        let tools = Server::new([Dial::Takes(MINUTE)]).connect(exact());
        drop(spawn(&tools, Ask::Who).await);
        yield_now().await;
        tools
    });
    drop(first);
    assert_eq!(runtime().block_on(who(&tools)), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_retired_connection_to_be_ready_goes_to_the_new_one() {
    let server = Server::new([]);
    // Two calls at once; a third has to wait, and may be given the place of one that fails.
    let connector = service_fn(move |()| {
        let server = server.clone();
        async { Ok::<_, BoxError>(ConcurrencyLimit::new(server.dial().await?, 2)) }
    });
    let tools = ReconnectLayer::new(()).layer(connector);
    // Good, so that the next dial is due at once.
    for _ in 0..2 {
        assert_eq!(tools.clone().oneshot(Ask::Who).await.unwrap(), 1);
    }
    let hangs = tokio::spawn(tools.clone().oneshot(Ask::After(MINUTE, None)));
    let losing = Ask::After(SECOND, Some(Class::Connection));
    let lost = tokio::spawn(tools.clone().oneshot(losing));
    sleep(SECOND / 2).await;
    let begun = Instant::now();
    let answer = tools.clone().oneshot(Ask::Who).await.unwrap();

    assert_eq!(answer, 2);
    assert_eq!(begun.elapsed(), SECOND / 2);
    assert!(lost.await.unwrap().is_err());
    assert_eq!(hangs.await.unwrap().unwrap(), 1);
}

#[test]
fn settings_that_cannot_work_are_refused_when_built() {
    let refused = |settings: ReconnectBuilder<()>| settings.build().unwrap_err().to_string();
    let settings = ReconnectLayer::builder;
    assert_eq!(
        refused(settings(()).dial_timeout(Duration::ZERO)),
        "a dial timeout of zero: give a dial some time"
    );
    assert_eq!(
        refused(settings(()).ready_timeout(Duration::ZERO)),
        "`ready_timeout` is zero: give a call some time to wait for a connection"
    );
    assert_eq!(
        refused(settings(()).probe_timeout(Duration::ZERO)),
        "a probe timeout of zero: give a probe some time"
    );
}
