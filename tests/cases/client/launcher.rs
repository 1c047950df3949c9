//! Servers behind a launcher.

use super::{connect, make, none};
use crate::peer::{Ledger, Log, MS, is_running, program, within};
use mcp_resilience::rmcp::client::ChildProcess;
use serde_json::json;
use std::{fs, path::PathBuf, process::Command};
use tokio::time::sleep;

/// A hostile server behind two shells, which leave their ids in a file.
struct Launched {
    ledger: Ledger,
    ids: PathBuf,
}

impl Launched {
    fn new() -> Self {
        let ledger = Ledger::new();
        let ids = ledger.path().with_extension("ids");
        Self { ledger, ids }
    }

    fn connector(&self) -> ChildProcess {
        let (ids, ledger) = (self.ids.display(), self.ledger.path().display());
        let server = format!(
            "'{}' --ledger '{ledger}'; exit $?",
            program("hostile").display()
        );
        let script =
            format!("echo $$ >> '{ids}'; sh -c \"echo \\$\\$ >> '{ids}'; {server}\"; exit $?");
        ChildProcess::new("sh").args(["-c", &script])
    }

    /// The outer shell of each start, the inner one, and the server.
    fn all(&self) -> Vec<u32> {
        let text = fs::read_to_string(&self.ids).unwrap();
        let shells = text.lines().map(|id| id.parse().unwrap());
        let lines = self.ledger.lines();
        let servers = lines.iter().filter_map(|line| line["pid"].as_u64());
        shells
            .chain(servers.map(|id| u32::try_from(id).unwrap()))
            .collect()
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.ids);
    }
}

fn kill(id: u32) {
    let killed = Command::new("kill").args(["-9", &id.to_string()]).status();
    assert!(killed.unwrap().success());
}

#[tokio::test]
async fn case_122_no_launcher_outlives_the_server_behind_it() {
    // Which of a start is killed in mid-call: the server, or the outermost launcher.
    for kills_server in [true, false] {
        let (server, log) = (Launched::new(), Log::default());
        let client = connect(server.connector(), &log).await;
        let running = tokio::spawn({
            let client = client.clone();
            let fault = json!({"kind": "late", "seconds": 1.0});
            async move { make(&client, "look", &fault).await }
        });
        server.ledger.wait_for("executed", 1).await;
        let first = server.all();
        assert_eq!(first.len(), 3, "{first:?}");
        kill(if kills_server { first[2] } else { first[0] });
        let (is_error, _) = within("the call", running).await.unwrap();
        assert!(!is_error, "repeated or completed: {:?}", log.lines());
        assert!(!make(&client, "book", &none()).await.0);
        within("the close", client.close()).await;
        within("the end of all", async {
            while server.all().iter().any(|id| is_running(*id)) {
                sleep(10 * MS).await;
            }
        })
        .await;
    }
}
