//! Errors of the installed rmcp's own client. These tests pin them, because some are only a text.

use crate::support::{Ledger, Port, SECOND, call, program, within};
use mcp_resilience::{
    Class, Delivery, Failure,
    classify::ClassifyLayer,
    rmcp::client::{classify_call, classify_start},
};
use rmcp::{
    RoleClient, ServiceExt,
    model::CallToolRequestParams,
    service::{ClientInitializeError, RunningService, ServiceError},
    transport::{
        StreamableHttpClientTransport, async_rw::AsyncRwTransport,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Value, json};
use std::{process::Stdio, time::Duration};
use tokio::process::{Child, Command};

type Client = RunningService<RoleClient, ()>;

async fn over_http(url: &str) -> Client {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    config.reinit_on_expired_session = false;
    connect(config).await.unwrap()
}

async fn connect(
    config: StreamableHttpClientTransportConfig,
) -> Result<Client, ClientInitializeError> {
    let transport = StreamableHttpClientTransport::with_client(reqwest::Client::new(), config);
    within("a connection", ().serve(transport)).await
}

fn start(
    ledger: &Ledger,
    arguments: &[&str],
) -> (
    Child,
    AsyncRwTransport<RoleClient, tokio::process::ChildStdout, tokio::process::ChildStdin>,
) {
    let mut child = Command::new(program("hostile"))
        .arg("--ledger")
        .arg(ledger.path())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    (child, AsyncRwTransport::new_client(stdout, stdin))
}

async fn fail(client: &Client, fault: Value) -> ServiceError {
    let answer = client.call_tool(call("book", &fault, 1));
    within("the end of a call", answer).await.unwrap_err()
}

fn said(failure: &Failure) -> (Class, Delivery, Option<Duration>) {
    (failure.class(), failure.delivery(), failure.retry_after())
}

#[tokio::test]
async fn errors_of_rmcps_http_client_have_a_class() {
    use Class as C;
    use Delivery as D;
    let status = |status: u16| json!({"kind": "status", "status": status});
    let with = |mut fault: Value, key: &str, value: Value| {
        fault[key] = value;
        fault
    };
    let later = "Thu, 01 Jan 2099 00:00:00 GMT";
    let cases = [
        (status(401), C::Unauthorized, D::Refused, None),
        (
            with(status(401), "authenticate", json!("Bearer")),
            C::Unauthorized,
            D::Refused,
            None,
        ),
        (status(403), C::Forbidden, D::Refused, None),
        (status(408), C::Timeout, D::Unknown, None),
        (
            with(status(429), "retry_after", json!("7")),
            C::RateLimited,
            D::Refused,
            Some(7 * SECOND),
        ),
        (
            with(status(503), "retry_after", json!("7")),
            C::Unavailable,
            D::Refused,
            Some(7 * SECOND),
        ),
        (status(500), C::Upstream, D::Unknown, None),
        (
            json!({"kind": "not_found"}),
            C::SessionLost,
            D::Unknown,
            None,
        ),
        (json!({"kind": "html"}), C::InvalidOutput, D::Executed, None),
        (
            json!({"kind": "drop_after"}),
            C::Connection,
            D::Unknown,
            None,
        ),
        (
            json!({"kind": "cut_stream"}),
            C::Connection,
            D::Unknown,
            None,
        ),
        (
            json!({"kind": "wrong_result"}),
            C::InvalidOutput,
            D::Executed,
            None,
        ),
        (
            json!({"kind": "die_after"}),
            C::Connection,
            D::Unknown,
            None,
        ),
    ];
    for (fault, class, delivery, wait) in cases {
        let ledger = Ledger::new();
        let server = ledger.http(&[]).await;
        let client = over_http(&server.url).await;
        let error = fail(&client, fault.clone()).await;
        assert_eq!(
            said(&classify_call(&error)),
            (class, delivery, wait),
            "{fault}: {error:?}"
        );
        let named = ClassifyLayer::new().rule(|error: &ServiceError| Some(classify_call(error)));
        assert_eq!(named.classify(error).class(), class, "as a rule");
    }

    let ledger = Ledger::new();
    let server = ledger.http(&[]).await;
    let client = over_http(&server.url).await;
    let error = fail(&client, with(status(429), "retry_after", json!(later))).await;
    assert!(
        classify_call(&error).retry_after() > Some(SECOND * 3600),
        "a date: {error:?}"
    );

    server.end();
    // A kept connection may be used once more.
    fail(&client, json!({"kind": "none"})).await;
    let error = fail(&client, json!({"kind": "none"})).await;
    let expected = (C::Connection, D::NotSent, None);
    assert_eq!(
        said(&classify_call(&error)),
        expected,
        "nothing listens: {error:?}"
    );
}

#[tokio::test]
async fn errors_of_rmcps_child_process_have_a_class() {
    let ledger = Ledger::new();
    let (_child, transport) = start(&ledger, &[]);
    let client = within("a connection", ().serve(transport)).await.unwrap();
    let lost = (Class::Connection, Delivery::Unknown, None);
    for why in ["it died", "it was dead"] {
        let error = fail(&client, json!({"kind": "die_after"})).await;
        assert!(
            matches!(error, ServiceError::TransportClosed),
            "{why}: {error:?}"
        );
        assert_eq!(said(&classify_call(&error)), lost, "{why}");
    }
}

#[tokio::test]
async fn connect_errors_of_rmcp_have_a_class() {
    let ledger = Ledger::new();
    let (_child, transport) = start(&ledger, &["--crash-starts", "1"]);
    let error = within("the end", ().serve(transport)).await.unwrap_err();
    // Closed, or a broken pipe: whichever it sees first.
    assert_eq!(classify_start(&error).class(), Class::Connection);

    for (status, class) in [("401", Class::Unauthorized), ("503", Class::Unavailable)] {
        let ledger = Ledger::new();
        let server = ledger.http(&["--start-status", status]).await;
        let config = StreamableHttpClientTransportConfig::with_uri(&*server.url);
        let error = connect(config).await.unwrap_err();
        assert_eq!(classify_start(&error).class(), class, "{error:?}");
    }

    let closed = Port::new();
    let url = format!("http://{}/mcp", closed.address);
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let failure = classify_start(&connect(config).await.unwrap_err());
    assert_eq!(said(&failure), (Class::Connection, Delivery::NotSent, None));
}

/// rmcp's own recovery of a session fails other pending requests, as if the server had refused
/// them.
#[tokio::test]
async fn an_answer_that_was_lost_when_rmcp_replaced_a_session_is_not_a_refusal() {
    let ledger = Ledger::new();
    let server = ledger.http(&["--answer", "sse"]).await;
    let config = StreamableHttpClientTransportConfig::with_uri(&*server.url);
    let client = connect(config).await.unwrap();
    let peer = client.peer().clone();
    let pending = tokio::spawn(async move {
        peer.call_tool(call("look", &json!({"kind": "hang"}), 1))
            .await
            .unwrap_err()
    });
    ledger.wait_for("executed", 1).await;
    let other = CallToolRequestParams::new("book").with_arguments(
        json!({"key": "other", "fault": {"kind": "not_found"}})
            .as_object()
            .unwrap()
            .clone(),
    );
    within("rmcp's own replay", client.call_tool(other))
        .await
        .unwrap();
    let error = within("the pending call", pending).await.unwrap();
    assert!(
        matches!(&error, ServiceError::McpError(data) if data.code.0 == -32603),
        "{error:?}"
    );
    let expected = (Class::Connection, Delivery::Unknown, None);
    assert_eq!(said(&classify_call(&error)), expected, "{error:?}");
}
