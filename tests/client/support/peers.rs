use super::{Process, SECOND};
use mcp_resilience::rmcp::client::{ChildProcess, Http};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A server of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Peer {
    /// The reference server of the protocol's authors.
    Everything,
    /// A bookshop on the TypeScript SDK.
    TypeScript,
    /// The same on the Python SDK.
    Python,
}

impl Peer {
    /// Whether it is there. With `MCP_RESILIENCE_PEERS=required` it has to be there. Otherwise a
    /// test without it prints that and passes.
    pub(crate) fn is_there(self) -> bool {
        let (program, script) = self.command();
        let is_there = script.exists() && (program == "node" || Path::new(&program).exists());
        if !is_there {
            let missing = format!("{self:?} is not set up: run `tests/peers/setup`");
            let is_required = env::var_os("MCP_RESILIENCE_PEERS").is_some_and(|v| v == "required");
            assert!(!is_required, "{missing}");
            eprintln!("skipped: {missing}");
        }
        is_there
    }

    fn command(self) -> (String, PathBuf) {
        let peers = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .parent()
            .unwrap()
            .join("peers");
        match self {
            Self::Everything => {
                let package = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
                ("node".to_owned(), peers.join(package))
            }
            Self::TypeScript => ("node".to_owned(), peers.join("typescript.mjs")),
            Self::Python => {
                let python = peers.join("venv/bin/python");
                (python.to_str().unwrap().to_owned(), peers.join("python.py"))
            }
        }
    }

    /// Over stdio; the file gets the id of each process that is started.
    pub(crate) fn stdio(self, ids: &Path) -> ChildProcess {
        let (program, script) = self.command();
        ChildProcess::new("sh")
            .args(["-c", r#"echo $$ >> "$0"; exec "$@""#])
            .arg(ids)
            .arg(program)
            .arg(script)
            .start_timeout(120 * SECOND)
    }

    /// Over HTTP, at a port.
    pub(crate) async fn http(self, port: u16) -> (Process, Http) {
        let (program, script) = self.command();
        let mut command = Command::new(program);
        match self {
            Self::Everything => {
                let preload = script.ancestors().nth(5).unwrap().join("on_loopback.mjs");
                command
                    .arg("--import")
                    .arg(preload)
                    .arg(script)
                    .arg("streamableHttp");
                command.env("PORT", port.to_string());
            }
            Self::TypeScript | Self::Python => {
                command.arg(script).args(["--http", &port.to_string()]);
            }
        }
        let (process, url) = Process::start(&mut command).await;
        (process, Http::new(url).start_timeout(120 * SECOND))
    }
}

/// Ends the process that wrote the last line.
pub(crate) fn kill_last(ids: &Path) {
    let text = fs::read_to_string(ids).unwrap();
    let id = text.lines().last().unwrap();
    assert!(
        Command::new("kill")
            .args(["-9", id])
            .status()
            .unwrap()
            .success()
    );
}
