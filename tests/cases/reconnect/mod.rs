//! When a connection is replaced, and what happens to calls in the meantime.

mod spaced;

use crate::{
    stack::{MS, SECOND, Server, fine, gives, lost, preset, reconnect, refuses, retry},
    support::{Answer, Call, Lines, Script, Strict},
};
use mcp_resilience::{Class, Failure, failure::RpcError, reconnect::ReconnectHandle};
use std::{
    future::{Future, ready},
    io::{Error, ErrorKind},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    task::{Context, Poll},
};
use tokio::time::{Instant, sleep};
use tower::{BoxError, Service, ServiceExt, service_fn};

type Answering = Pin<Box<dyn Future<Output = Result<Answer, BoxError>> + Send>>;

/// A connection that answers its number until it is closed.
#[derive(Clone, Debug)]
struct Numbered {
    number: u32,
    is_closed: Arc<AtomicBool>,
    breaks_calls: bool,
}

impl Service<Call> for Numbered {
    type Response = Answer;
    type Error = BoxError;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let closed = || Err(Error::from(ErrorKind::BrokenPipe).into());
        let is_closed = self.is_closed.load(Relaxed);
        Poll::Ready(if is_closed { closed() } else { Ok(()) })
    }

    fn call(&mut self, _: Call) -> Answering {
        let broken = self.breaks_calls.then(lost);
        let answer = broken.unwrap_or_else(|| Ok(Answer::ok(&self.number.to_string())));
        Box::pin(ready(answer))
    }
}

type Handle<S> = ReconnectHandle<mcp_resilience::preset::Connection<S>>;
type Stack<S> = mcp_resilience::preset::Connected<S>;

/// The service, its handle, and all connections that were made.
type Counted = (
    Stack<Strict<Numbered>>,
    Handle<Strict<Numbered>>,
    Arc<Mutex<Vec<Numbered>>>,
);

/// A server of such connections. The first `broken` ones break every call.
fn numbered(broken: u32) -> Counted {
    let made = Arc::<Mutex<Vec<Numbered>>>::default();
    let kept = Arc::clone(&made);
    let connector = service_fn(move |()| {
        let mut made = kept.lock().unwrap();
        let number = u32::try_from(made.len()).unwrap() + 1;
        let connection = Numbered {
            number,
            is_closed: Arc::default(),
            breaks_calls: number <= broken,
        };
        made.push(connection.clone());
        ready(Ok::<_, BoxError>(Strict::new(connection)))
    });
    let preset = preset(&Lines::default(), retry()).build().unwrap();
    let (stack, handle) = preset.connect(&reconnect().build().unwrap(), Strict::new(connector));
    (stack, handle, made)
}

#[tokio::test(start_paused = true)]
async fn case_050_a_call_after_a_loss_uses_a_new_connection_and_not_a_clone_of_the_old() {
    let (stack, handle, made) = numbered(1);
    let answer = stack.clone().oneshot(Call::read_only("who")).await.unwrap();
    assert_eq!(answer, Answer::ok("2"));
    assert_eq!(handle.generation(), 2);
    assert_eq!(made.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn case_051_a_connection_that_was_closed_meanwhile_is_replaced_before_the_call_is_sent() {
    let (stack, handle, made) = numbered(0);
    // It was not sent: any tool is made on the next one.
    let who = || stack.clone().oneshot(Call::tool("book"));
    assert_eq!(who().await.unwrap(), Answer::ok("1"));
    made.lock().unwrap()[0].is_closed.store(true, Relaxed);
    assert_eq!(who().await.unwrap(), Answer::ok("2"));
    assert_eq!(who().await.unwrap(), Answer::ok("2"));
    assert_eq!(handle.generation(), 2);

    // A call that was sent is not repeated without permission.
    let (stack, handle, _) = numbered(1);
    let who = || stack.clone().oneshot(Call::tool("book"));
    assert!(who().await.unwrap().is_error);
    assert_eq!(who().await.unwrap(), Answer::ok("2"));
    assert_eq!(handle.generation(), 2);
}

#[tokio::test(start_paused = true)]
async fn case_053_each_outage_begins_with_the_first_wait_and_all_attempts_again() {
    let refused = || refuses(Error::from(ErrorKind::ConnectionRefused));
    let connections: Vec<_> = (0..11)
        .map(|_| Script::new([fine(), fine(), lost()]))
        .collect();
    let mut dials = vec![gives(&connections[0])];
    for connection in &connections[1..] {
        dials.extend([refused(), refused(), gives(connection)]);
    }
    let server = Server::new(dials);
    server.call(Call::read_only("look")).await.unwrap();
    for outage in 0..10 {
        server.call(Call::read_only("look")).await.unwrap();
        sleep(SECOND).await;
        let begun = Instant::now();
        // Lost, then repeated on the next connection, which is good after one more answer.
        let answer = server.call(Call::read_only("look")).await.unwrap();
        assert_eq!(answer, Answer::ok("fine"));
        let took = begun.elapsed().as_millis();
        assert_eq!(took, 3_000, "outage {outage}: 1 s and 2 s");
        assert_eq!(server.lines.all().pop().unwrap()["attempts"], 2);
    }
    assert_eq!(server.handle.generation(), 11);
}

#[tokio::test(start_paused = true)]
async fn case_055_a_session_that_is_gone_is_a_loss_and_no_refusal_of_credentials() {
    let gone: [fn() -> BoxError; 6] = [
        || {
            Failure::session_lost("Session not found")
                .before_running()
                .into()
        },
        || RpcError::new(-32600, "Session terminated", None).into(),
        || RpcError::new(-32600, "Session not found", None).into(),
        || RpcError::new(-32001, "Session not found", None).into(),
        || RpcError::new(-32600, "Session terminated.", None).into(),
        || RpcError::new(32600, "Session terminated", None).into(),
    ];
    for gone in gone {
        let old = Script::new([Err(gone())]);
        let new = Script::new([fine()]);
        let server = Server::new([gives(&old), gives(&new)]);
        // Only a connection with a session can say that a tool did not run: see the tests of the
        // client.
        let answer = server.call(Call::read_only("look")).await.unwrap();
        assert_eq!(answer, Answer::ok("fine"), "it is made again");
        assert_eq!(server.handle.generation(), 2);
        let line = server.lines.only();
        assert_eq!(line["retries"][0]["class"], "session_lost");
    }
    // A real refusal is one.
    let old = Script::new([Err(Failure::unauthorized("401").into()), fine()]);
    let server = Server::new([gives(&old)]);
    assert!(server.call(Call::tool("book")).await.unwrap().is_error);
    server.call(Call::tool("book")).await.unwrap();
    assert_eq!(server.handle.generation(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_056_a_connection_is_used_only_once_its_handshake_is_complete() {
    let shaken = Arc::new(AtomicBool::new(false));
    let connector = service_fn({
        let shaken = Arc::clone(&shaken);
        let dialled = Arc::new(AtomicU32::new(0));
        move |()| {
            let shaken = Arc::clone(&shaken);
            let number = dialled.fetch_add(1, Relaxed);
            async move {
                shaken.store(false, Relaxed);
                sleep(SECOND).await;
                if number == 1 {
                    // The second server is not there yet: its handshake fails.
                    return Err(BoxError::from("initialize: no answer"));
                }
                shaken.store(true, Relaxed);
                let mut is_first = number == 0;
                Ok(service_fn(move |_: Call| {
                    let was_shaken = shaken.load(Relaxed);
                    let breaks = std::mem::replace(&mut is_first, false);
                    async move {
                        if !was_shaken {
                            return Err(BoxError::from("not initialised"));
                        }
                        if breaks { lost() } else { fine() }
                    }
                }))
            }
        }
    });
    let lines = Lines::default();
    let preset = preset(&lines, retry()).build().unwrap();
    let (stack, handle) = preset.connect(&reconnect().build().unwrap(), connector);
    let begun = Instant::now();
    let answer = stack
        .clone()
        .oneshot(Call::read_only("look"))
        .await
        .unwrap();
    assert_eq!(answer, Answer::ok("fine"));
    assert_eq!(handle.generation(), 2, "the one that failed was never used");
    // A handshake, a wait, one that fails, a wait of the backoff, and another.
    assert!(begun.elapsed() >= 3 * SECOND, "{:?}", begun.elapsed());
    assert_eq!(lines.only()["attempts"], 2);
}

#[tokio::test(start_paused = true)]
async fn case_059_a_call_whose_server_dies_ends_with_the_connection_or_with_its_time() {
    // The connection says that it is closed, 10 ms later.
    let dies = Script::timed([(10 * MS, lost())]);
    // Or nobody says anything.
    let hangs = Script::timed([(86_400 * SECOND, fine())]);
    for (connection, took, class) in [(dies, 10, "connection"), (hangs, 1_000, "timeout")] {
        let next = Script::new([fine()]);
        let lines = Lines::default();
        let preset = preset(&lines, retry()).attempt_timeout(SECOND);
        let reconnect = reconnect().build().unwrap();
        let dials = [gives(&connection), gives(&next)];
        let server = Server::with(&preset.build().unwrap(), &reconnect, lines, dials);
        let begun = Instant::now();
        let answer = server.call(Call::tool("book")).await.unwrap();
        assert!(answer.is_error);
        assert_eq!(begun.elapsed().as_millis(), took);
        assert_eq!(server.lines.only()["class"], class);
        let later = server.call(Call::tool("book")).await.unwrap();
        assert_eq!(later, Answer::ok("fine"), "renewed");
    }
}

#[tokio::test(start_paused = true)]
async fn case_060_a_connection_that_is_there_after_the_end_is_dropped_and_stays_unused() {
    let first = Script::new([fine(), fine(), lost()]);
    let late = Script::new([fine()]);
    let server = Server::new([gives(&first), (SECOND, Ok(late.clone()))]);
    server.call(Call::tool("book")).await.unwrap();
    server.call(Call::tool("book")).await.unwrap();
    assert!(server.call(Call::tool("book")).await.unwrap().is_error);
    let stack = server.stack.clone();
    let waiting = tokio::spawn(stack.oneshot(Call::tool("book")));
    sleep(500 * MS).await;
    server.handle.shutdown();
    let answer = waiting.await.unwrap();
    assert_eq!(answer.unwrap_err().class(), Class::Cancelled);
    sleep(10 * SECOND).await;
    assert!(!server.handle.is_connected());
    assert_eq!(server.handle.generation(), 1);
    let after = server.call(Call::tool("book")).await;
    assert_eq!(after.unwrap_err().class(), Class::Cancelled, "for good");
    assert_eq!(late.calls().len(), 0);
    assert_eq!(server.dials().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn case_061_a_broken_pipe_costs_a_call_and_not_the_process() {
    let broken = |text: &'static str| Error::new(ErrorKind::BrokenPipe, text);
    let first = Script::new([Err(broken("cannot write the request").into())]);
    let next = Script::new([fine()]);
    let server = Server::new([gives(&first), gives(&next)]);
    let answer = server.call(Call::tool("book")).await.unwrap();
    assert!(answer.is_error);
    assert_eq!(server.lines.only()["class"], "connection");
    let later = server.call(Call::tool("book")).await.unwrap();
    assert_eq!(later, Answer::ok("fine"));
}
