//! A signal at any moment of a call.
//!
//! `SIGNAL_MOMENTS=100` tries 100 moments for each signal instead of a few.

use crate::support::{Bookshop, Child, Wire, log_lines, over_both_wires};
use serde_json::{Value, json};
use std::{collections::BTreeMap, env, time::Duration};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

over_both_wires! {
    a_signal_in_mid_call_leaves_an_answer_and_a_line
}

fn moments() -> u64 {
    let moments = env::var("SIGNAL_MOMENTS").ok();
    moments.map_or(4, |moments| moments.parse().unwrap())
}

/// The call takes half a second, and the signal comes at a moment of it: within the grace.
async fn a_signal_in_mid_call_leaves_an_answer_and_a_line(wire: Wire) {
    for signal in ["TERM", "INT", "HUP"] {
        for _ in 0..moments() {
            let mut shop = Bookshop::open(wire, &[]).await;
            let sleeping = shop.begin("sleep", json!({"seconds": 0.5})).await;
            let moment = Duration::from_millis(rand::random_range(0..500));
            tokio::time::sleep(moment).await;
            shop.signal(signal);
            let done = shop.conclude(sleeping).await;
            assert_eq!(
                done.text(),
                "Slept for 0.5 s.",
                "SIG{signal} after {moment:?}"
            );
            let (status, said) = shop.ended().await;
            assert_eq!(status.code(), Some(0), "SIG{signal} after {moment:?}");
            assert_eq!(said, [""; 0]);
        }
    }
}

/// The call may be at any stage, since its begin is not awaited. It is answered, or refused; what
/// was answered has one line, and no line is without an answer.
#[tokio::test]
async fn a_signal_around_the_begin_of_a_call_leaves_one_answer_and_one_line_or_neither() {
    let messages = [
        json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"},
            },
        }),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    for signal in ["TERM", "INT", "HUP"] {
        for _ in 0..moments() {
            let (mut child, mut stdin, stdout) = Child::start(&[], &[]);
            let mut stdout = BufReader::new(stdout).lines();
            for message in &messages {
                stdin
                    .write_all(format!("{message}\n").as_bytes())
                    .await
                    .unwrap();
            }
            stdout.next_line().await.unwrap().expect("an answer");
            for id in 1..=3 {
                let call = json!({
                    "jsonrpc": "2.0", "id": id, "method": "tools/call",
                    "params": {"name": "get_author", "arguments": {"title": "Dune"}},
                });
                stdin
                    .write_all(format!("{call}\n").as_bytes())
                    .await
                    .unwrap();
            }
            let moment = Duration::from_micros(rand::random_range(0..3000));
            tokio::time::sleep(moment).await;
            child.signal(signal);
            assert_eq!(
                child.ended().await.code(),
                Some(0),
                "SIG{signal} after {moment:?}"
            );
            let mut answered: BTreeMap<u64, u32> = BTreeMap::new();
            while let Some(line) = stdout.next_line().await.unwrap() {
                let answer: Value = serde_json::from_str(&line).unwrap();
                *answered.entry(answer["id"].as_u64().unwrap()).or_default() += 1;
            }
            let mut logged: BTreeMap<u64, u32> = BTreeMap::new();
            for line in log_lines(&child.stderr.all().await) {
                *logged
                    .entry(line["request_id"].as_u64().unwrap())
                    .or_default() += 1;
            }
            assert_eq!(answered, logged, "SIG{signal} after {moment:?}");
            // They were written 200 ms and more before the server stopped reading.
            assert_eq!(logged, BTreeMap::from([(1, 1), (2, 1), (3, 1)]));
            drop(stdin);
        }
    }
}
