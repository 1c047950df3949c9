//! Signals to a process that uses a client: the example `call`.

use crate::support::{Ledger, MS, is_running, program, within};
use serde_json::{Value, json};
use std::{
    env, fs,
    os::unix::process::ExitStatusExt,
    process::{Command as StdCommand, Output, Stdio},
    time::Duration,
};
use tokio::{
    process::{Child, Command},
    task::JoinSet,
    time::sleep,
};

/// Name, exit code and number.
const SIGNALS: [(&str, i32, i32); 3] = [("HUP", 129, 1), ("INT", 130, 2), ("TERM", 143, 15)];

/// A call of a server that ignores the end of its stdin and SIGTERM, and has a child in its process
/// group.
struct Running {
    call: Child,
    ledger: Ledger,
}

impl Running {
    fn start() -> Self {
        let ledger = Ledger::new();
        let hang = json!({"key": "k", "fault": {"kind": "hang"}, "times": 9}).to_string();
        let script = format!(
            "sleep 300 & echo $! > '{}'; '{}' --ledger '{}' --linger 60",
            ledger.path().with_extension("pid").display(),
            program("hostile").display(),
            ledger.path().display(),
        );
        let call = Command::new(program("call"))
            .args(["book", &hang, "--", "sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { call, ledger }
    }

    fn signal(&self, name: &str) {
        // Gone already, if it could not even start.
        let id = self.call.id().unwrap().to_string();
        let sent = StdCommand::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end, and for the end of all processes that it started.
    async fn end(self) -> (Output, Ledger) {
        let output = within("the end of `call`", self.call.wait_with_output()).await;
        let mut started: Vec<u32> = fs::read_to_string(self.ledger.path().with_extension("pid"))
            .ok()
            .and_then(|id| id.trim().parse().ok())
            .into_iter()
            .collect();
        let lines = self.ledger.lines();
        let servers = lines.iter().filter_map(|line| line["pid"].as_u64());
        started.extend(servers.map(|id| u32::try_from(id).unwrap()));
        within("the end of its processes", async {
            while started.iter().any(|id| is_running(*id)) {
                sleep(10 * MS).await;
            }
        })
        .await;
        let _ = fs::remove_file(self.ledger.path().with_extension("pid"));
        (output.unwrap(), self.ledger)
    }
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[tokio::test]
async fn case_121_a_signal_in_a_call_ends_the_server_and_the_line_is_written() {
    for (name, code, _) in SIGNALS {
        let running = Running::start();
        running.ledger.wait_for("executed", 1).await;
        running.signal(name);
        let (output, _) = running.end().await;
        assert_eq!(output.status.code(), Some(code), "{name}: {output:?}");
        let lines = lines(&output);
        assert_eq!(lines.len(), 1, "{name}: {output:?}");
        assert_eq!(lines[0]["outcome"], "cancelled", "{name}");
        assert_eq!(output.stdout, b"", "{name}");
    }
}

#[tokio::test]
async fn a_signal_before_the_server_is_ready_ends_what_was_started() {
    for (name, code, _) in SIGNALS {
        let ledger = Ledger::new();
        let call = Command::new(program("call"))
            .args(["look", "--"])
            .arg(program("hostile"))
            .arg("--ledger")
            .arg(ledger.path())
            .args(["--mute", "--linger", "60"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let running = Running { call, ledger };
        running.ledger.wait_for("started", 1).await;
        running.signal(name);
        let (output, _) = running.end().await;
        assert_eq!(output.status.code(), Some(code), "{name}: {output:?}");
        assert!(lines(&output).is_empty(), "no call began: {output:?}");
    }
}

#[tokio::test]
async fn a_second_signal_ends_at_once() {
    let running = Running::start();
    running.ledger.wait_for("executed", 1).await;
    running.signal("TERM");
    running.signal("INT");
    let (output, _) = running.end().await;
    let code = output.status.code().unwrap();
    assert!([130, 143].contains(&code), "{output:?}");
    assert_eq!(lines(&output).len(), 1, "{output:?}");
}

/// Random moments for each signal. `MCP_RESILIENCE_MOMENTS` sets their number.
#[tokio::test]
async fn a_signal_at_any_moment_leaves_no_process_and_loses_no_line() {
    let moments = env::var("MCP_RESILIENCE_MOMENTS").ok();
    let moments: u32 = moments.map_or(4, |number| number.parse().unwrap());
    for begin in (0..moments).step_by(4) {
        let mut tests = JoinSet::new();
        for (name, code, number) in SIGNALS {
            for _ in begin..moments.min(begin + 4) {
                tests.spawn(async move { at_a_random_moment(name, code, number).await });
            }
        }
        tests.join_all().await;
    }
}

async fn at_a_random_moment(name: &str, code: i32, number: i32) {
    let running = Running::start();
    let moment = Duration::from_micros(rand::random_range(0..400_000));
    sleep(moment).await;
    running.signal(name);
    let (output, ledger) = running.end().await;
    let what = format!("{name} after {moment:?}: {output:?}");
    if output.status.signal() == Some(number) {
        // Before it could listen, and so before it started anything.
        assert_eq!(ledger.count("started"), 0, "{what}");
        return;
    }
    assert_eq!(output.status.code(), Some(code), "{what}");
    let lines = lines(&output);
    assert!(lines.len() <= 1, "{what}");
    if ledger.count("arrived") > 0 {
        assert_eq!(lines.len(), 1, "{what}");
        assert_eq!(lines[0]["outcome"], "cancelled", "{what}");
    }
}
