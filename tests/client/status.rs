//! HTTP statuses, and how long a server asks to wait.

use crate::support::{Ledger, Log, MS, SECOND, call, reconnect, resilience, retry, within};
use mcp_resilience::{
    retry::RetryBuilder,
    rmcp::client::{Client, Connector},
};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

async fn connect(connector: impl Connector, log: &Log, retry: RetryBuilder) -> Client {
    let client = Client::builder(connector)
        .resilience(resilience(log, retry).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    client.connect().await.unwrap()
}

async fn book(client: &Client, fault: &Value) -> Value {
    let answer = client.call_tool(call("book", fault, 1)).await.unwrap();
    let CallToolResponse::Complete(result) = answer else {
        panic!("{answer:?}");
    };
    json!(result)
}

#[tokio::test]
async fn no_call_is_repeated_earlier_than_the_server_asked() {
    const DATE: &str = "a date in 2 s";
    let cases = [
        (
            json!({"status": 429, "retry_after": DATE}),
            Duration::ZERO,
            "rate_limited",
        ),
        (
            json!({"status": 429, "retry_after": "1"}),
            SECOND,
            "rate_limited",
        ),
        (
            json!({"status": 503, "retry_after": "1"}),
            SECOND,
            "unavailable",
        ),
        (
            json!({"status": 503, "retry_after": "1", "rpc": true}),
            SECOND,
            "unavailable",
        ),
        (
            json!({"status": 408, "retry_after": "1"}),
            SECOND,
            "timeout",
        ),
    ];
    for (mut fault, least, class) in cases {
        fault["kind"] = json!("status");
        let (ledger, log) = (Ledger::new(), Log::default());
        let server = ledger.http(&[]).await;
        let client = connect(server.connector(), &log, retry()).await;
        if fault["retry_after"] == DATE {
            #[expect(clippy::disallowed_methods, reason = "a date is the wall clock's")]
            let then = SystemTime::now() + 2 * SECOND;
            fault["retry_after"] = json!(httpdate::fmt_http_date(then));
        }
        let begun = Instant::now();
        let result = book(&client, &fault).await;
        let is_date = fault["retry_after"]
            .as_str()
            .and_then(|text| httpdate::parse_http_date(text).ok());
        match is_date {
            #[expect(clippy::disallowed_methods, reason = "a date is the wall clock's")]
            Some(date) => assert!(SystemTime::now() >= date, "{fault}"),
            None => assert!(begun.elapsed() >= least, "{fault}: {:?}", begun.elapsed()),
        }
        assert_eq!(
            result["structuredContent"],
            json!({"executions": 1}),
            "{fault}"
        );
        let line = log.line();
        assert_eq!(line["retries"][0]["class"], class, "{fault}");
        assert!(line["retries"][0]["wait_ms"].as_u64() >= u64::try_from(least.as_millis()).ok());
    }
}

#[tokio::test]
async fn a_wait_that_is_too_long_is_handed_to_the_model_at_once() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let server = ledger.http(&[]).await;
    let client = connect(server.connector(), &log, retry()).await;
    let fault = json!({"kind": "status", "status": 429, "retry_after": "3600"});
    let result = within("an answer", book(&client, &fault)).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["retryAfter"], 3600);
    assert_eq!(ledger.count("arrived"), 1);
}

#[tokio::test]
async fn a_restart_of_the_server_costs_a_call_one_attempt_however_it_says_that() {
    for arguments in [&[][..], &["--stale-400"]] {
        let (ledger, log) = (Ledger::new(), Log::default());
        let server = ledger.http(arguments).await;
        let client = connect(server.connector(), &log, retry()).await;
        // It has been a good connection.
        let listed = CallToolRequestParams::new("pid");
        client.call_tool(listed).await.unwrap();
        server.kill();
        ledger.wait_for("started", 2).await;
        // A connection that was kept for later may break: that is another failure.
        tokio::time::sleep(200 * MS).await;
        let result = book(&client, &json!({"kind": "none"})).await;
        assert_eq!(
            result["structuredContent"],
            json!({"executions": 1}),
            "{arguments:?}"
        );
        let line = log.lines().remove(1);
        assert_eq!(line["attempts"], 2, "{arguments:?}");
        assert_eq!(line["retries"][0]["class"], "session_lost", "{arguments:?}");
        assert_eq!(line["retries"][0]["wait_ms"], 0, "{arguments:?}");
        assert_eq!(client.handle().generation(), 2);
    }
}

#[tokio::test]
async fn a_server_that_says_the_session_is_gone_after_the_tool_ran_is_believed_unless_distrusted() {
    let fault = json!({"kind": "not_found_after"});
    for (retry, ran) in [(retry(), 2), (retry().distrust_server(), 1)] {
        let (ledger, log) = (Ledger::new(), Log::default());
        let server = ledger.http(&[]).await;
        let client = connect(server.connector(), &log, retry).await;
        let result = book(&client, &fault).await;
        assert_eq!(ledger.count("executed"), ran);
        assert_eq!(result["isError"] == true, ran == 1, "{result}");
    }
}

#[tokio::test]
async fn a_refusal_does_not_cost_the_connection() {
    let statuses = [401, 403, 429, 503];
    let (ledger, log) = (Ledger::new(), Log::default());
    let server = ledger.http(&[]).await;
    let client = connect(server.connector(), &log, retry().max_attempts(1)).await;
    for status in statuses {
        let fault = json!({"kind": "status", "status": status});
        let arguments = json!({"key": status.to_string(), "fault": fault});
        let arguments = arguments.as_object().unwrap().clone();
        let call = CallToolRequestParams::new("book").with_arguments(arguments);
        client.call_tool(call).await.unwrap();
    }
    assert_eq!(client.handle().generation(), 1);
    assert_eq!(ledger.count("initialized"), 1);
}

/// The stream of an answer that breaks off is taken up again where the server has event ids; see
/// the live peers for one that has the rest of it.
#[tokio::test]
async fn a_stream_that_cannot_be_resumed_is_given_up_at_once() {
    let (ledger, log) = (Ledger::new(), Log::default());
    let server = ledger.http(&[]).await;
    let resilience = resilience(&log, retry().max_attempts(1)).attempt_timeout(500 * SECOND);
    let client = Client::builder(server.connector()).resilience(resilience.build().unwrap());
    let client = client.connect().await.unwrap();
    let fault = json!({"kind": "cut_stream", "priming": true});
    let result = within("an answer", book(&client, &fault)).await;
    assert_eq!(result["isError"], true);
    assert_eq!(log.line()["class"], "connection", "{}", log.line());
}
