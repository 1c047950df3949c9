use crate::{
    port::Port,
    support::{Http, Ledger, Server, initialize, within},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, timeout};

async fn initialized(server: &mut Server) -> Value {
    server.send(&initialize()).await;
    server.message().await
}

#[tokio::test]
async fn the_first_starts_crash_and_later_ones_do_not() {
    let ledger = Ledger::new();
    let arguments = ["--crash-starts", "1", "--start-fault-from", "2"];
    for crashes in [false, true, false] {
        let mut server = ledger.start(&arguments);
        if crashes {
            assert_eq!(server.complaint().await, "crashed at start");
            assert_eq!(server.ended().await, (String::new(), Some(3)));
        } else {
            assert_eq!(initialized(&mut server).await["id"], 0);
        }
    }
    assert_eq!(ledger.lines().len(), 3);
}

#[tokio::test]
async fn a_start_can_be_mute_slow_noisy_or_of_another_version() {
    let ledger = Ledger::new();
    let mut mute = ledger.start(&["--mute"]);
    mute.send(&initialize()).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    mute.send(&ping).await;
    assert_eq!(mute.message().await["id"], 1);

    let started = Instant::now();
    initialized(&mut ledger.start(&["--slow-start", "0.3"])).await;
    assert!(started.elapsed() >= Duration::from_millis(300));

    let mut noisy = ledger.start(&["--start-noise"]);
    for _ in 0..3 {
        let line = noisy.line().await;
        assert!(serde_json::from_str::<Value>(&line).is_err(), "{line}");
    }
    assert_eq!(initialized(&mut noisy).await["id"], 0);

    let of_another = initialized(&mut ledger.start(&["--protocol", "1999-01-01"])).await;
    assert_eq!(of_another["result"]["protocolVersion"], "1999-01-01");

    let mut no_mcp = ledger.start(&["--not-mcp"]);
    no_mcp.send(&initialize()).await;
    let line = no_mcp.line().await;
    assert!(serde_json::from_str::<Value>(&line).is_err(), "{line}");
}

#[tokio::test]
async fn a_start_over_http_fails_alike() {
    let ledger = Ledger::new();
    let (_server, http) = ledger.start_http(&["--start-status", "503"]).await;
    let refused = http.post(None, &initialize()).await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");

    let (_server, http) = ledger.start_http(&["--not-mcp"]).await;
    let page = http.post(None, &initialize()).await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(page.contains("Content-Type: text/html"), "{page}");

    let (_server, http) = ledger.start_http(&["--mute"]).await;
    assert_eq!(http.ask_in_vain(None, &initialize(), "").await.0, "");

    let started = Instant::now();
    let (_server, http) = ledger.start_http(&["--slow-start", "0.5"]).await;
    http.session().await;
    assert!(started.elapsed() >= Duration::from_millis(500));
    // Its port is bound before it answers.
    let (_server, http) = ledger.start_http(&["--slow-start", "3600"]).await;
    assert_eq!(http.ask_in_vain(None, &initialize(), "").await.0, "");
}

#[tokio::test]
async fn the_server_ends_with_its_stdin_or_lingers_and_never_outlives_its_limit() {
    let ledger = Ledger::new();
    let started = Instant::now();
    let mut lingering = ledger.start(&["--linger", "0.5"]);
    initialized(&mut lingering).await;
    let pid = lingering.process.id().unwrap().to_string();
    let kill = tokio::process::Command::new("kill").arg(pid).status();
    assert!(within("kill", kill).await.unwrap().success());
    drop(lingering.stdin.take());
    assert_eq!(lingering.ended().await.1, Some(0));
    assert!(started.elapsed() >= Duration::from_millis(500));

    // Its stdin stays open.
    assert_eq!(ledger.start(&["--life", "0.1"]).ended().await.1, Some(0));
    let (mut server, _) = ledger.start_http(&["--life", "3"]).await;
    assert_eq!(server.ended().await.1, Some(0));
}

#[tokio::test]
async fn a_restart_can_swap_the_hints_of_the_tools() {
    let ledger = Ledger::new();
    let reads = json!({"readOnlyHint": true, "idempotentHint": true});
    let writes = json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false});
    for (arguments, look, book) in [
        (vec!["--annotations", "swapped"], &reads, &writes),
        (vec!["--annotations", "swapped"], &writes, &reads),
        (vec![], &reads, &writes),
        (vec!["--no-annotations"], &Value::Null, &Value::Null),
    ] {
        let mut server = ledger.start(&arguments);
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        server.send(&list).await;
        let tools = server.message().await["result"]["tools"].take();
        assert_eq!(tools[0]["name"], "look");
        assert_eq!(&tools[0]["annotations"], look, "{arguments:?}");
        assert_eq!(tools[1]["name"], "book");
        assert_eq!(&tools[1]["annotations"], book, "{arguments:?}");
        assert_eq!(tools[2]["name"], "pid");
    }
}

#[tokio::test]
async fn a_killed_server_can_be_started_again_on_its_port() {
    let ledger = Ledger::new();
    let port = Port::new();
    let address = port.address.to_string();
    let mut server = ledger.start(&["--get-stream", "--http", &address]);
    let url = format!("http://{address}/mcp");
    assert_eq!(server.complaint().await, url);
    let http = Http { address };
    let session = http.session().await;
    // Another connection that is open when the server dies.
    let listening = http.ask("GET", Some(&session), "");
    assert!(
        timeout(Duration::from_millis(200), listening)
            .await
            .is_err()
    );
    let open = tokio::net::TcpStream::connect(&http.address).await.unwrap();
    server.process.kill().await.unwrap();

    let mut again = ledger.start(&["--http", &http.address]);
    assert_eq!(again.complaint().await, url);
    let stale = http.call(&session, "k", Value::Null).await;
    assert!(stale.starts_with("HTTP/1.1 404 "), "{stale}");
    assert_ne!(http.session().await, session);
    drop(open);
}
