//! `Failure`: its table of classes, its constructors, and the conversion of other errors.

use crate::support::Answer;
use mcp_resilience::failure::{Audience, BoxError, Class, Code, Delivery, Failure, RpcError};
use serde_json::json;
use std::{
    error::Error,
    future::{Ready, pending},
    io,
    task::{Context, Poll},
    time::Duration,
};
use tower::{
    Service, ServiceExt, buffer::Buffer, load_shed::LoadShed, service_fn, timeout::Timeout,
};
use tracing::Level;

/// Class, codes, who acts, new connection, against the server, how far it got, whether it heals, log
/// level.
type Row = (
    Class,
    &'static [&'static str],
    Audience,
    bool,
    bool,
    Delivery,
    bool,
    Level,
);

#[rustfmt::skip]
const TABLE: [Row; 19] = {
    use self::{Audience as A, Class as C, Delivery as D};
    const NO: bool = false;
    const YES: bool = true;
    const INFO: Level = Level::INFO;
    const WARN: Level = Level::WARN;
    const ERROR: Level = Level::ERROR;
    [
        (C::Connection,    &[],                                                A::Stack,    YES, YES, D::Unknown,  YES, WARN),
        (C::Timeout,       &[],                                                A::Stack,    YES, YES, D::Unknown,  YES, WARN),
        (C::SessionLost,   &[],                                                A::Stack,    YES, NO,  D::Unknown,  YES, WARN),
        (C::RateLimited,   &["rate_limited"],                                  A::Time,     NO,  NO,  D::Unknown,  YES, WARN),
        (C::AtCapacity,    &["at_capacity"],                                   A::Time,     NO,  YES, D::Unknown,  YES, WARN),
        (C::Unavailable,   &["service_unavailable"],                           A::Time,     NO,  YES, D::Unknown,  YES, WARN),
        (C::Upstream,      &["upstream_error"],                                A::Time,     NO,  YES, D::Executed, YES, WARN),
        (C::InvalidInput,  &["bad_request", "upstream_client_error"],          A::Model,    NO,  NO,  D::Unknown,  NO,  INFO),
        (C::Blocked,       &["ssrf_blocked"],                                  A::Model,    NO,  NO,  D::Unknown,  NO,  INFO),
        (C::NotFound,      &["not_found"],                                     A::Model,    NO,  NO,  D::Unknown,  NO,  INFO),
        (C::Unauthorized,  &["auth_failed"],                                   A::Operator, NO,  NO,  D::Unknown,  NO,  WARN),
        (C::Forbidden,     &["forbidden"],                                     A::Model,    NO,  NO,  D::Unknown,  NO,  INFO),
        (C::Disabled,      &["service_disabled"],                              A::Operator, NO,  NO,  D::Unknown,  NO,  WARN),
        (C::Tool,          &[],                                                A::Model,    NO,  NO,  D::Executed, NO,  INFO),
        (C::InvalidOutput, &["upstream_non_json", "output_validation_failed"], A::Operator, NO,  YES, D::Executed, NO,  WARN),
        (C::Protocol,      &[],                                                A::Host,     NO,  NO,  D::Unknown,  NO,  INFO),
        (C::Crash,         &["upstream_unknown"],                              A::Operator, NO,  YES, D::Unknown,  NO,  ERROR),
        (C::Cancelled,     &[],                                                A::Nobody,   NO,  NO,  D::Unknown,  NO,  INFO),
        (C::Fatal,         &[],                                                A::Process,  NO,  YES, D::Unknown,  NO,  ERROR),
    ]
};

/// A foreign error around another.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Wrapped {
    text: &'static str,
    source: BoxError,
}

fn wrapped(text: &'static str, source: impl Into<BoxError>) -> BoxError {
    let source = source.into();
    Wrapped { text, source }.into()
}

fn class_of(error: impl Into<BoxError>) -> Class {
    Failure::from(error.into()).class()
}

#[test]
fn every_class_is_what_its_row_says() {
    assert!(Class::all().eq(TABLE.iter().map(|row| row.0)));
    for (class, codes, audience, reconnects, against_server, delivery, heals, level) in TABLE {
        for code in codes {
            assert_eq!(Class::from_code(code), Some(class), "{code}");
        }
        assert_eq!(class.audience(), audience, "{class}");
        assert_eq!(class.needs_new_connection(), reconnects, "{class}");
        assert_eq!(class.speaks_against_server(), against_server, "{class}");
        let failure = Failure::new(class, "x");
        assert_eq!(failure.speaks_against_server(), against_server, "{class}");
        assert_eq!(class.delivery(), delivery, "{class}");
        assert_eq!(Failure::new(class, "x").delivery(), delivery, "{class}");
        assert_eq!(class.heals(), heals, "{class}");
        assert_eq!(class.level(), level, "{class}");
        let default = class.default_code();
        assert!(
            codes.is_empty() || codes.contains(&default) || class == Class::Crash,
            "{class}"
        );
    }
}

#[test]
fn classes_and_deliveries_have_names_for_a_log_line() {
    let names: Vec<_> = Class::all().map(Class::as_str).collect();
    for (at, name) in names.iter().enumerate() {
        let is_word = name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(is_word && !name.is_empty(), "{name:?}");
        assert!(!names[..at].contains(name), "{name} is there twice");
    }
    let deliveries = [
        (Delivery::NotSent, "not_sent", true),
        (Delivery::Refused, "refused", true),
        (Delivery::Unknown, "unknown", false),
        (Delivery::Executed, "executed", false),
    ];
    for (delivery, name, did_not_run) in deliveries {
        assert_eq!(delivery.to_string(), name);
        assert_eq!(delivery.did_not_run(), did_not_run, "{name}");
    }
}

#[test]
fn a_code_is_known_in_every_usual_spelling() {
    #[rustfmt::skip]
    let spellings = [
        "rate_limited", "RATE_LIMITED", "rate-limited", "Rate Limited", "rateLimited",
        "RateLimited", " rate_limited ",
    ];
    for code in spellings {
        assert_eq!(Class::from_code(code), Some(Class::RateLimited), "{code:?}");
    }
}

#[test]
fn a_code_with_other_letters_is_not_known() {
    #[rustfmt::skip]
    let others = [
        "", " ", "_", "429", "rate", "limited", "rate_limit", "rate_limited_2", "not_rate_limited",
        "at_capacities", "found", "not_foundry", "forbid", "unauthorized_client",
    ];
    for code in others {
        assert_eq!(Class::from_code(code), None, "{code:?}");
    }
}

#[test]
fn only_case_underscore_hyphen_and_blanks_of_a_code_do_not_matter() {
    for code in ["rate.limited", "rate_limited!", "not/found", "forbiddené"] {
        assert_eq!(Class::from_code(code), None, "{code:?}");
    }
}

#[test]
fn every_constructor_says_what_it_is_named_for() {
    let a_while = Duration::from_millis(1500);
    #[rustfmt::skip]
    let cases = [
        (Failure::tool("m"), Class::Tool),
        (Failure::not_found("m"), Class::NotFound),
        (Failure::blocked("m"), Class::Blocked),
        (Failure::unauthorized("m"), Class::Unauthorized),
        (Failure::forbidden("m"), Class::Forbidden),
        (Failure::disabled("m"), Class::Disabled),
        (Failure::upstream("m"), Class::Upstream),
        (Failure::connection("m"), Class::Connection),
        (Failure::timeout("m"), Class::Timeout),
        (Failure::session_lost("m"), Class::SessionLost),
        (Failure::invalid_output("m"), Class::InvalidOutput),
        (Failure::cancelled("m"), Class::Cancelled),
        (Failure::fatal("m"), Class::Fatal),
        (Failure::rate_limited(Some(a_while)).with_message("m"), Class::RateLimited),
        (Failure::at_capacity(Some(a_while)).with_message("m"), Class::AtCapacity),
        (Failure::unavailable(Some(a_while)).with_message("m"), Class::Unavailable),
    ];
    for (failure, class) in cases {
        let wait = failure.retry_after();
        let asks_to_wait = class.audience() == Audience::Time && class != Class::Upstream;
        assert_eq!(failure.class(), class);
        assert_eq!(failure.message(), Some("m"), "{class}");
        assert_eq!(failure.to_string(), "m", "{class}");
        assert_eq!(failure.delivery(), class.delivery(), "{class}");
        assert_eq!(wait, asks_to_wait.then_some(a_while), "{class}");
        assert_eq!(failure.attempts(), 1, "{class}");
        let nothing_else = failure.waits().is_empty() && !failure.has_result();
        assert!(nothing_else && failure.source().is_none(), "{class}");
        assert_eq!(failure.retryable(), None, "{class}");
        assert_eq!(failure.code(), None, "{class}");
    }
}

#[test]
fn constructors_with_more_to_say_keep_it() {
    let problem = "expected a string, got a number";
    let failure = Failure::invalid_input("title", problem);
    let text = failure.to_string();
    assert_eq!(failure.class(), Class::InvalidInput);
    assert_eq!(failure.argument(), Some("title"));
    assert!(text.contains("title") && text.contains(problem), "{text}");

    let data = json!({"missing": ["sampling"]});
    let failure = Failure::protocol(-32021, "the client cannot sample", Some(data.clone()));
    let rpc_error = RpcError::new(-32021, "the client cannot sample", Some(data));
    assert_eq!(failure.class(), Class::Protocol);
    assert_eq!(failure.rpc_error(), Some(&rpc_error));
    assert_eq!(failure.code(), Some(&Code::Number(-32021)));
    assert_eq!(failure.to_string(), "the client cannot sample");

    let failure = Failure::crash(io::Error::other("KeyError"));
    assert_eq!(failure.class(), Class::Crash);
    assert_eq!(failure.message(), None);
    assert_eq!(failure.source().unwrap().to_string(), "KeyError");
}

#[test]
fn a_failure_is_never_shown_blank_and_never_shows_its_source() {
    for class in Class::all() {
        for blank in ["", " ", "\n\t "] {
            let failure = Failure::new(class, blank).because(io::Error::other("hunter2"));
            assert_eq!(failure.message(), None, "{class}");
            assert!(!failure.to_string().trim().is_empty(), "{class}");
            assert!(!failure.to_string().contains("hunter2"), "{class}");
        }
        let failure = Failure::new(class, "said").because(io::Error::other("hunter2"));
        assert_eq!(failure.to_string(), "said", "{class}");
    }
    let text = Failure::protocol(-32600, " ", None).to_string();
    assert!(!text.trim().is_empty());
}

#[test]
fn the_chain_shows_each_cause_once_outermost_first() {
    /// Passes through text and source of what it holds.
    #[derive(Debug, thiserror::Error)]
    #[error(transparent)]
    struct Transparent(BoxError);
    /// Shows what it holds, and names it as its source too.
    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Echo(#[source] BoxError);

    let denied = || wrapped("cannot open", io::Error::other("permission denied"));
    let expected = "cannot read prices: cannot open: permission denied";
    #[rustfmt::skip]
    let cases: [(&str, BoxError, &str); 6] = [
        ("plain", denied(), expected),
        ("transparent", Transparent(denied()).into(), expected),
        ("echo", Echo(denied()).into(), expected),
        ("io::Error around an error", io::Error::other(denied()).into(), expected),
        ("blank in between", wrapped("  ", denied()), expected),
        ("its own text again", wrapped("cannot read prices", denied()), expected),
    ];
    for (case, source, expected) in cases {
        let failure = Failure::tool("cannot read prices").because(source);
        assert_eq!(failure.chain().to_string(), expected, "{case}");
    }
    let failure = Failure::crash(io::Error::other("lone"));
    assert_eq!(failure.chain().to_string(), "failed unexpectedly: lone");
}

#[test]
fn a_chain_without_an_end_is_cut() {
    #[derive(Debug, thiserror::Error)]
    #[error("ping")]
    struct Ping;
    #[derive(Debug)]
    struct Pong;
    impl std::fmt::Display for Pong {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("pong")
        }
    }
    impl Error for Pong {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self)
        }
    }
    let failure = Failure::from(BoxError::from(Pong));
    assert_eq!(failure.class(), Class::Crash);
    assert_eq!(failure.chain().to_string(), "failed unexpectedly: pong");

    let long = (0..1000).fold(BoxError::from(Ping), |source, at| {
        wrapped(if at % 2 == 0 { "even" } else { "odd" }, source)
    });
    let failure = Failure::from(long);
    assert_eq!(failure.class(), Class::Crash);
    let parts = failure.chain().to_string().matches(": ").count();
    assert!((3..100).contains(&parts), "{parts} parts");
}

/// A failure with everything in it.
fn full() -> Failure {
    Failure::rate_limited(Some(Duration::from_secs(7)))
        .with_message("slow down")
        .with_code("RATE_LIMITED")
        .with_status(429)
        .with_delivery(Delivery::NotSent)
        .with_retryable(true)
        .instead("search_cached")
        .with_rpc_error(RpcError::new(-32029, "slow", Some(json!({"scope": "key"}))))
}

fn assert_is_full(failure: &Failure, delivery: Delivery, case: &str) {
    assert_eq!(failure.class(), Class::RateLimited, "{case}");
    let wait = failure.retry_after();
    assert_eq!(wait, Some(Duration::from_secs(7)), "{case}");
    assert_eq!(failure.message(), Some("slow down"), "{case}");
    assert_eq!(failure.code(), Some(&Code::from("RATE_LIMITED")), "{case}");
    assert_eq!(failure.status(), Some(429), "{case}");
    assert_eq!(failure.delivery(), delivery, "{case}");
    // A cause keeps its class, but not that it was refused or may be repeated.
    let is_whole = delivery == Delivery::NotSent;
    assert_eq!(failure.retryable(), is_whole.then_some(true), "{case}");
    assert_eq!(failure.alternative(), Some("search_cached"), "{case}");
    let rpc_error = RpcError::new(-32029, "slow", Some(json!({"scope": "key"})));
    assert_eq!(failure.rpc_error(), Some(&rpc_error), "{case}");
}

#[test]
fn a_boxed_failure_is_unwrapped_with_all_that_is_in_it() {
    let answer = Answer::flagged("slow down");
    let cause = io::Error::other("upstream");
    let boxed = full().because(cause).with_result(answer.clone());
    let mut failure = Failure::from(BoxError::from(boxed));

    assert_is_full(&failure, Delivery::NotSent, "boxed");
    assert_eq!(failure.source().unwrap().to_string(), "upstream");
    let of_another_type = failure.take_result::<String>();
    assert_eq!(of_another_type, None);
    assert_eq!(failure.take_result::<Answer>(), Some(answer));
    assert!(!failure.has_result());
}

#[test]
fn a_failure_deep_inside_a_foreign_error_is_found_but_for_how_far_its_own_call_got() {
    let cases = [
        ("once", wrapped("outer", full())),
        ("twice", wrapped("outer", wrapped("inner", full()))),
        ("in io", wrapped("outer", io::Error::other(full()))),
    ];
    for (case, error) in cases {
        let failure = Failure::from(error);
        // That the tool's own call was not sent does not show whether this call did half its work.
        assert_is_full(&failure, Delivery::Unknown, case);
        assert!(failure.source().unwrap().is::<Wrapped>(), "{case}");
        assert!(failure.chain().to_string().contains("outer"), "{case}");
    }
    let named = wrapped("outer", Failure::invalid_input("isbn", "too short"));
    assert_eq!(Failure::from(named).argument(), Some("isbn"));
}

/// A service that is never ready.
struct Unready(Thrown);

type Thrown = fn() -> BoxError;

impl Service<()> for Unready {
    type Response = ();
    type Error = BoxError;
    type Future = Ready<Result<(), BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Err((self.0)()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        unreachable!("called though it is not ready")
    }
}

#[tokio::test]
async fn the_error_that_closed_a_buffer_keeps_its_class() {
    #[rustfmt::skip]
    let cases: [(&str, Thrown, Class); 4] = [
        ("a panic", || panic!("the shelf fell"), Class::Connection),
        ("a final failure", || Failure::unauthorized("no key").into(), Class::Unauthorized),
        ("a lost connection", || io::Error::from(io::ErrorKind::BrokenPipe).into(), Class::Connection),
        ("anything else", || "a bug".into(), Class::Crash),
    ];
    for (case, error, class) in cases {
        let mut buffer = Buffer::new(Unready(error), 4);
        let first = buffer.ready().await.unwrap().call(()).await.unwrap_err();
        assert_eq!(class_of(first), class, "{case}: the call that met it");
        let Err(later) = buffer.ready().await else {
            panic!("{case}: still ready");
        };
        assert_eq!(class_of(later), class, "{case}: a later one");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_of_tower_and_tokio_are_known() {
    let second = Duration::from_secs(1);
    let silent = service_fn(|()| pending::<Result<(), BoxError>>());
    let elapsed = Timeout::new(silent, second).oneshot(()).await.unwrap_err();
    let busy = tower::limit::ConcurrencyLimit::new(silent, 1);
    let mut shed = LoadShed::new(busy);
    let running = shed.ready().await.unwrap().call(());
    let overloaded = shed.ready().await.unwrap().call(()).await.unwrap_err();
    drop(running);
    let late = tokio::time::timeout(second, pending::<()>()).await;
    let task = tokio::spawn(pending::<()>());
    task.abort();
    let aborted = task.await.unwrap_err();
    let panicked = tokio::spawn(async { panic!("boom") }).await.unwrap_err();

    let cases: [(&str, BoxError, Class); 5] = [
        ("Elapsed of tower", elapsed, Class::Timeout),
        ("Overloaded", overloaded, Class::AtCapacity),
        ("Elapsed of tokio", late.unwrap_err().into(), Class::Timeout),
        ("an aborted task", aborted.into(), Class::Crash),
        ("a panicked task", panicked.into(), Class::Crash),
    ];
    for (case, error, class) in cases {
        let failure = Failure::from(wrapped("a", wrapped("b", error)));
        assert_eq!(failure.class(), class, "{case}");
        assert_eq!(failure.delivery(), Delivery::Unknown, "{case}");
        assert!(failure.chain().to_string().contains("a: b"), "{case}");
    }
}

#[test]
fn an_io_error_is_known_by_its_kind_however_deep_it_is() {
    use std::io::ErrorKind as E;
    let lost = [
        E::ConnectionRefused,
        E::ConnectionReset,
        E::ConnectionAborted,
        E::BrokenPipe,
        E::NotConnected,
        E::UnexpectedEof,
    ];
    let others = [E::PermissionDenied, E::InvalidData, E::InvalidInput];
    let cases = lost.map(|kind| (kind, Class::Connection)).into_iter();
    let cases = cases.chain([(E::TimedOut, Class::Timeout)]);
    for (kind, class) in cases.chain(others.map(|kind| (kind, Class::Crash))) {
        let bare = || io::Error::from(kind);
        let errors = [
            ("bare", bare().into()),
            ("with a text", io::Error::new(kind, "gone").into()),
            ("two deep", wrapped("a", wrapped("b", bare()))),
            ("inside io", wrapped("a", io::Error::other(bare()))),
        ];
        for (depth, error) in errors {
            let failure = Failure::from(error);
            assert_eq!(failure.class(), class, "{kind:?} {depth}");
            // The error does not show whether it was the transport's or the tool's connection.
            assert_eq!(failure.delivery(), Delivery::Unknown, "{kind:?} {depth}");
            assert!(failure.source().is_some(), "{kind:?} {depth}");
        }
        assert_eq!(Failure::from(bare()).class(), class, "{kind:?} with `?`");
    }
}

#[test]
fn a_final_cause_inside_a_healing_wrapper_wins() {
    let reset = |cause: Failure| io::Error::new(io::ErrorKind::ConnectionReset, cause);
    let denied = Failure::forbidden("no").because(reset(Failure::timeout("t")));
    #[rustfmt::skip]
    let cases = [
        ("a final cause", wrapped("x", reset(Failure::fatal("gone"))), Class::Fatal),
        ("without a wrapper", reset(Failure::unauthorized("401")).into(), Class::Unauthorized),
        ("both heal: the outer", reset(Failure::timeout("t")).into(), Class::Connection),
        ("the final one outside", wrapped("x", denied), Class::Forbidden),
    ];
    for (case, error, class) in cases {
        assert_eq!(class_of(error), class, "{case}");
    }
}
