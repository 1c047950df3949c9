//! Batches before and between requests to begin a session.

use super::{
    lines::{NEW, OLD, call, initialize},
    serve,
};

const PING: &str = r#"[{"jsonrpc":"2.0","id":98,"method":"ping"}]"#;

fn batch(id: &str, key: &str) -> String {
    format!("[{}]", call(id, key))
}

#[tokio::test(start_paused = true)]
async fn an_error_before_a_session_takes_nothing_from_a_batch_in_it() {
    for before in [None, Some(initialize(NEW))] {
        let lines = [PING.to_owned(), initialize(OLD), batch("1", "first")];
        let lines: Vec<_> = before.into_iter().chain(lines).collect();
        let served = serve(&lines).await;
        assert_eq!(served.ran, ["first"]);
        assert_eq!(served.log, ["1 ran"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_begins_however_its_first_request_is_written() {
    let escaped = initialize(OLD).replacen("initialize", r"initi\u0061lize", 1);
    let spaced = format!("\u{feff}\u{a0}{}", initialize(OLD));
    let other = initialize(OLD).replacen(r#""id":0"#, r#""other":1,"id":0.0"#, 1);
    for begins in [escaped, spaced, other] {
        let lines = [PING.to_owned(), begins.clone(), batch("1", "first")];
        let served = serve(&lines).await;
        assert_eq!(served.ran, ["first"], "{begins}");
        assert_eq!(served.log, ["1 ran"], "{begins}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_leaves_its_line_if_no_session_has_begun() {
    let begins = initialize(OLD);
    let begins = begins.lines().next().unwrap_or_default();
    let id = r#""id":0,"#;
    let failed = [
        begins.replace(id, ""),
        begins.replace(r#""jsonrpc":"2.0","#, ""),
        begins.replace(id, r#""id":0,"id":0,"#),
        begins.replace(id, r#""id":null,"#),
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":5}"#.to_owned(),
        format!("[{begins}]"),
    ];
    for failed in failed {
        let served = serve(&[failed.clone(), batch("1", "first"), batch("2", "second")]).await;
        assert!(served.ran.is_empty(), "{failed}");
        assert_eq!(served.log, ["1 -32600", "2 -32600"], "{failed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_leaves_its_line_if_a_session_without_batches_begins_before_its_turn() {
    let lines = [
        initialize(OLD),
        call("1", "first"),
        batch("2", "second"),
        initialize(NEW),
    ];
    let served = serve(&lines).await;
    assert_eq!(served.ran, ["first"]);
    assert_eq!(served.log, ["1 ran", "2 -32600"]);
}
