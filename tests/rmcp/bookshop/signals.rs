//! A signal shuts a server down in order.

use crate::support::{Bookshop, Exchange, Wire, assert_has, over_both_wires};
use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpStream};

over_both_wires! {
    calls_that_come_after_a_signal_are_refused_and_those_before_it_answered
    a_second_signal_cuts_off_the_calls_at_once
}

/// A server that is told to stop during a call of ten minutes.
async fn stopping(wire: Wire, signal: &str, grace: &str) -> (Bookshop, u64) {
    let limits = ["--attempt-timeout", "900", "--grace", grace];
    let mut shop = Bookshop::open(wire, &limits).await;
    let sleeping = shop.begin("sleep", json!({"seconds": 600})).await;
    shop.signal(signal);
    (shop, sleeping)
}

const CUT_OFF: &str = "Error executing tool sleep: the server was shut down before it was done. \
                       Try again later.";

/// The first refused call. The signal needs some time to arrive.
async fn first_refused(shop: &mut Bookshop) -> Exchange {
    loop {
        let done = shop.call("get_author", json!({"title": "Dune"})).await;
        if done.result()["isError"] == true {
            return done;
        }
    }
}

async fn calls_that_come_after_a_signal_are_refused_and_those_before_it_answered(wire: Wire) {
    for signal in ["INT", "TERM", "HUP"] {
        let (mut shop, sleeping) = stopping(wire, signal, "2").await;
        let refused = first_refused(&mut shop).await;
        assert_eq!(
            refused.text(),
            "Error executing tool get_author: the server is shutting down. Try again later."
        );
        let wanted = json!({
            "level": "WARN", "outcome": "failed", "class": "unavailable", "delivery": "not_sent",
            "retry_stopped": "not_ready", "retried": false,
        });
        assert_has(&refused.line, &wanted);

        let cut_off = shop.conclude(sleeping).await;
        assert_eq!(cut_off.text(), CUT_OFF);
        let latency = cut_off.line["latency_ms"].as_u64().unwrap();
        assert!(latency >= 2000, "two seconds are its: {latency} ms");
        let (status, said) = shop.ended().await;
        assert_eq!(status.code(), Some(0), "SIG{signal} is a normal end");
        assert_eq!(said, [""; 0]);
    }
}

async fn a_second_signal_cuts_off_the_calls_at_once(wire: Wire) {
    // The grace is longer than a test may take.
    let (mut shop, sleeping) = stopping(wire, "INT", "3600").await;
    first_refused(&mut shop).await;
    shop.signal("TERM");
    let cut_off = shop.conclude(sleeping).await;
    assert_eq!(cut_off.text(), CUT_OFF);
    let (status, said) = shop.ended().await;
    assert_eq!(status.code(), Some(0));
    assert_eq!(said, [""; 0]);
}

/// Stops a server that has received only this part of a request.
async fn assert_ends_with_half_of(request: &str, signal: &str) {
    let mut shop = Bookshop::open(Wire::Http, &[]).await;
    let mut half = TcpStream::connect(shop.http().address()).await.unwrap();
    half.write_all(request.as_bytes()).await.unwrap();
    // Answered after it came.
    shop.call("get_author", json!({"title": "Dune"})).await;
    shop.signal(signal);
    let (status, said) = shop.ended().await;
    assert_eq!(status.code(), Some(0), "SIG{signal}");
    assert_eq!(said, [""; 0]);
    drop(half);
}

#[tokio::test]
async fn half_a_head_does_not_hold_up_the_end() {
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: appl";
    tokio::join!(
        assert_ends_with_half_of(head, "INT"),
        assert_ends_with_half_of(head, "TERM"),
    );
}

#[tokio::test]
async fn half_a_body_does_not_hold_up_the_end() {
    let body = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                Accept: application/json, text/event-stream\r\nContent-Length: 500\r\n\r\n\
                {\"jsonrpc\": \"2.0\", \"id\": 1, ";
    tokio::join!(
        assert_ends_with_half_of(body, "INT"),
        assert_ends_with_half_of(body, "TERM"),
    );
}
