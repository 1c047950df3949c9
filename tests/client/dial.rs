//! How a connection is made, and what the client knows then.
#![expect(
    deprecated,
    reason = "MCP has deprecated the logging level, and servers still have it"
)]

use crate::support::{
    FrozenClock, Ledger, Log, MS, Port, SECOND, Scripted, call, reconnect, resilience, retry,
    scripted::{events, result},
    within,
};
use axum::body::Body;
use mcp_resilience::{
    Class, Failure,
    call::Hints,
    failure::Delivery,
    reconnect::{ConnectionState, ReconnectBuilder},
    rmcp::client::{ChildProcess, Client, ClientBuilder, Connector, Http},
};
use rmcp::model::{LoggingLevel, SetLevelRequestParams, SubscribeRequestParams};
use serde_json::json;
use std::{
    convert::Infallible,
    error::Error,
    future::{pending, ready},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{Instant, advance},
};

const HOUR: Duration = Duration::from_secs(3600);

fn client<C: Connector>(connector: C, reconnect: ReconnectBuilder<()>) -> ClientBuilder<C> {
    Client::builder(connector)
        .resilience(resilience(&Log::default(), retry()).build().unwrap())
        .reconnect(reconnect.build().unwrap())
}

async fn dial(mut connector: impl Connector) -> Failure {
    let dialled = connector.call(());
    within("the end of a dial", dialled).await.unwrap_err()
}

fn chain(failure: &Failure) -> String {
    let mut text = failure.to_string();
    let mut source = failure.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[tokio::test]
async fn a_dial_that_fails_says_what_was_wrong_and_that_nothing_was_sent() {
    let ledger = Ledger::new();
    let refuses = ledger.http(&["--start-status", "401"]).await;
    let page = ledger.http(&["--not-mcp"]).await;
    let mute = ledger.http(&["--mute"]).await;
    let short = |connector: ChildProcess| connector.start_timeout(500 * MS);
    let new = Ledger::new;
    let closed = Port::new();
    let cases = [
        (
            dial(ChildProcess::new("./no-such-command")).await,
            Class::Disabled,
            "cannot run the command `./no-such-command`: No such file",
        ),
        (
            dial(ChildProcess::new("/dev/null")).await,
            Class::Disabled,
            "cannot run the command `/dev/null`: Permission denied",
        ),
        (
            dial(new().stdio(&["--crash-starts", "1"])).await,
            Class::Connection,
            "closed the connection before it was ready: the server's process ended (exit status: \
             3); its last words: crashed at start",
        ),
        (
            dial(short(new().stdio(&["--mute"]))).await,
            Class::Timeout,
            "the tool server was not ready within 500ms",
        ),
        (
            dial(short(new().stdio(&["--not-mcp"]))).await,
            Class::Timeout,
            "the tool server was not ready within 500ms",
        ),
        (
            dial(new().stdio(&["--protocol", "1999-01-01"])).await,
            Class::Disabled,
            "the tool server speaks MCP `1999-01-01`, which is not known here",
        ),
        (
            dial(Http::new("no url")).await,
            Class::Disabled,
            "the url of the tool server is not an http url",
        ),
        (
            dial(Http::new("file:///etc/passwd")).await,
            Class::Disabled,
            "the url of the tool server is not an http url",
        ),
        (
            dial(Http::new(format!("http://{}/mcp", closed.address))).await,
            Class::Connection,
            "the tool server cannot be reached",
        ),
        (
            dial(refuses.connector()).await,
            Class::Unauthorized,
            "401 Unauthorized",
        ),
        (
            dial(page.connector()).await,
            Class::Connection,
            "it is neither json nor events",
        ),
        (
            dial(mute.connector().start_timeout(500 * MS)).await,
            Class::Timeout,
            "the tool server was not ready within 500ms; to allow more, raise `start_timeout`",
        ),
    ];
    for (failure, class, text) in cases {
        let said = chain(&failure);
        assert_eq!(failure.class(), class, "{said}");
        assert_eq!(failure.delivery(), Delivery::NotSent, "{said}");
        assert!(said.contains(text), "{said}");
        assert!(!said.contains("transport"), "no name of a type: {said}");
    }
}

#[tokio::test]
async fn the_first_connect_failing_is_fatal_with_the_reason() {
    let ledger = Ledger::new();
    let connector = ledger.stdio(&["--crash-starts", "9"]);
    let failure = client(connector, reconnect()).connect().await.unwrap_err();
    assert_eq!(failure.class(), Class::Fatal);
    assert!(
        chain(&failure).ends_with("its last words: crashed at start"),
        "{}",
        chain(&failure)
    );
    assert_eq!(ledger.count("started"), 1);
}

#[tokio::test]
async fn a_missing_binary_and_refused_credentials_fail_each_call_as_such_within_its_ready_timeout()
{
    let ledger = Ledger::new();
    let server = ledger.http(&["--start-status", "401"]).await;
    let patient = || reconnect().retry_first_dial();
    let missing = client(ChildProcess::new("./no-such-command"), patient()).build();
    let refused = client(server.connector(), patient()).build();
    for (client, class) in [(missing, Class::Disabled), (refused, Class::Unauthorized)] {
        for _ in 0..3 {
            let connected = within("the failure", client.handle().connect());
            assert_eq!(connected.await.unwrap_err().class(), class);
        }
    }
}

#[tokio::test]
async fn dials_into_a_crash_loop_are_spaced_by_the_backoff_until_one_lasts() {
    let ledger = Ledger::new();
    let connector = ledger.stdio(&["--crash-starts", "3", "--start-fault-from", "2"]);
    let client = client(connector, reconnect()).connect().await.unwrap();
    let lost = call("look", &json!({"kind": "die_after"}), 1);
    let begun = Instant::now();
    client.call_tool(lost).await.unwrap();
    assert_eq!(
        ledger.count("started"),
        5,
        "one, three that crash, and a good one"
    );
    // The first is due at once; the waits are 20, 40 and 80 ms.
    assert!(begun.elapsed() >= 140 * MS, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_server_that_starts_slowly_is_waited_for() {
    let ledger = Ledger::new();
    let connector = ledger.stdio(&["--slow-start", "1.0", "--start-noise"]);
    let client = client(connector, reconnect()).connect().await.unwrap();
    client
        .call_tool(call("look", &json!(null), 1))
        .await
        .unwrap();
    assert_eq!(ledger.count("started"), 1);
}

#[tokio::test]
async fn shutting_down_ends_a_dial_and_every_wait_at_once() {
    let ledger = Ledger::new();
    let cases = [
        (ledger.stdio(&["--mute"]).start_timeout(HOUR), "a dial"),
        (ledger.stdio(&["--crash-starts", "99"]), "a wait"),
    ];
    for (connector, phase) in cases {
        let slow = mcp_resilience::backoff::Backoff::new(HOUR, HOUR).unwrap();
        // Longer than the wait: the caller would not begin one that it cannot wait out.
        let reconnect = reconnect()
            .retry_first_dial()
            .backoff(slow)
            .ready_timeout(2 * HOUR);
        let client = client(connector, reconnect.dial_timeout(HOUR)).build();
        let mut changes = client.handle().changes();
        let waiting = tokio::spawn({
            let client = client.clone();
            async move { client.handle().connect().await }
        });
        let reached = changes.wait_for(|state| match state {
            ConnectionState::Connecting => phase == "a dial",
            state => matches!(state, ConnectionState::Failed { .. }),
        });
        within(phase, reached).await.unwrap();
        client.handle().shutdown();
        // Every limit and every wait is an hour.
        let ended = within("the end of the wait", waiting).await;
        assert_eq!(ended.unwrap().unwrap_err().class(), Class::Cancelled);
    }
}

#[tokio::test]
async fn hints_come_from_the_list_of_tools_and_anew_with_each_dial() {
    let ledger = Ledger::new();
    let connector = ledger.stdio(&["--annotations", "swapped"]);
    let client = client(connector, reconnect()).connect().await.unwrap();
    let unsaid = Hints::new().output_schema(false);
    let reads = unsaid.read_only(true).idempotent(true);
    let hints = || {
        (
            client.catalog().hints("look"),
            client.catalog().hints("book"),
        )
    };
    assert_eq!(hints(), (Some(reads), Some(unsaid)));
    assert_eq!(client.tools().unwrap().len(), 3);

    client
        .call_tool(call("look", &json!({"kind": "die_after"}), 1))
        .await
        .unwrap();
    assert_eq!(client.handle().generation(), 2);
    assert_eq!(hints(), (Some(unsaid), Some(reads)), "the other way round");
    assert_eq!(client.catalog().hints("no_such_tool"), None);
}

#[tokio::test]
async fn hints_of_the_user_win_over_those_of_the_server() {
    let fault = json!({"kind": "die_after"});
    for (tool, hints, ran) in [
        ("look", Hints::new(), 1),
        ("book", Hints::new().idempotent(true), 2),
    ] {
        let ledger = Ledger::new();
        let client = client(ledger.stdio(&[]), reconnect()).hints(tool, hints);
        let client = client.connect().await.unwrap();
        client.call_tool(call(tool, &fault, 1)).await.unwrap();
        assert_eq!(ledger.count("executed"), ran, "{tool}");
    }
    let ledger = Ledger::new();
    let client = client(ledger.stdio(&["--no-annotations"]), reconnect());
    let client = client.connect().await.unwrap();
    client.call_tool(call("look", &fault, 1)).await.unwrap();
    assert_eq!(
        ledger.count("executed"),
        1,
        "of a tool without annotations nothing is known"
    );
}

#[test]
fn the_debug_form_of_a_connector_has_no_secret() {
    let child = ChildProcess::new("server")
        .arg("--token=s3cret")
        .env("TOKEN", "s3cret");
    let token = rmcp_header("x-token");
    let http = Http::new("http://127.0.0.1:9/mcp")
        .bearer("s3cret")
        .header(token.0, token.1);
    for shown in [format!("{child:?}"), format!("{http:?}")] {
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}

fn rmcp_header(name: &'static str) -> (reqwest::header::HeaderName, reqwest::header::HeaderValue) {
    let value = reqwest::header::HeaderValue::from_static("s3cret");
    (reqwest::header::HeaderName::from_static(name), value)
}

#[tokio::test(start_paused = true)]
async fn a_list_and_a_hook_that_never_end_fit_into_a_dial_timeout_below_the_start_timeout() {
    let _clock = FrozenClock::new();
    let (listing, hooked) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let asked = Arc::clone(&listing);
    let server = Scripted::start(move |seen, _| {
        (seen.method() == "tools/list").then(|| {
            asked.notify_one();
            let never = futures_util::stream::pending::<Result<Vec<u8>, Infallible>>();
            events(Body::from_stream(never))
        })
    });
    let server = server.await;
    let runs = Arc::clone(&hooked);
    let client = client(Http::new(&*server.url), reconnect().dial_timeout(SECOND));
    let client = client.on_connect(move |_| {
        runs.notify_one();
        pending::<Result<(), Failure>>()
    });
    let connecting = tokio::spawn(client.connect());
    for step in [listing, hooked] {
        within("a step of the dial", step.notified()).await;
        advance(450 * MS).await;
    }
    let client = within("a connection", connecting).await.unwrap().unwrap();
    let failure = client.tools().unwrap_err();
    let text = "within 450ms; to allow more, raise `dial_timeout`";
    assert!(failure.to_string().ends_with(text), "{failure}");
}

/// Without a session, so that nothing waits for a stream.
#[tokio::test(start_paused = true)]
async fn a_subscription_that_hangs_leaves_time_to_restore_the_rest_and_to_run_the_hook() {
    let _clock = FrozenClock::new();
    let (hanging, hooked) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let asked = Arc::clone(&hanging);
    let server = Scripted::start(move |seen, before| match (seen.method(), before) {
        ("resources/subscribe", 1) => {
            asked.notify_one();
            let never = futures_util::stream::pending::<Result<Vec<u8>, Infallible>>();
            Some(events(Body::from_stream(never)))
        }
        ("resources/subscribe" | "logging/setLevel", _) => {
            Some(result(&seen.message["id"], &json!({})))
        }
        _ => None,
    });
    let server = server.await;
    let runs = Arc::clone(&hooked);
    let client = client(Http::new(&*server.url), reconnect());
    let client = client.on_connect(move |_| {
        runs.notify_one();
        ready(Ok::<_, Failure>(()))
    });
    let client = within("a connection", client.connect()).await.unwrap();
    within("the hook", hooked.notified()).await;
    let subscribe = client.subscribe(SubscribeRequestParams::new("file:///a"));
    within("an answer", subscribe).await.unwrap();
    let level = client.set_level(SetLevelRequestParams::new(LoggingLevel::Info));
    within("an answer", level).await.unwrap();

    let reconnecting = tokio::spawn({
        let client = client.clone();
        async move { client.reconnect().await }
    });
    within("the subscription", hanging.notified()).await;
    // Half of the start timeout.
    advance(5 * SECOND).await;
    within("the next", reconnecting).await.unwrap().unwrap();
    within("the hook", hooked.notified()).await;
    assert_eq!(server.count("logging/setLevel"), 2);
}
