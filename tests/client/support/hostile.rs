use super::{MS, Port, Process, SECOND, program, within};
use mcp_resilience::rmcp::client::{ChildProcess, Http};
use rmcp::model::CallToolRequestParams;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};
use tokio::{task::JoinHandle, time::sleep};

/// A call of a hostile tool that goes wrong in its first `times` arrivals.
pub(crate) fn call(tool: &'static str, fault: &Value, times: u32) -> CallToolRequestParams {
    let arguments = json!({"key": "k", "fault": fault, "times": times});
    let Value::Object(arguments) = arguments else {
        unreachable!("an object was made");
    };
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

/// The ledger of a hostile server, over all its starts.
pub(crate) struct Ledger(PathBuf);

impl Ledger {
    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Relaxed);
        let name = format!("client-{}-{number}.jsonl", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub(crate) fn count(&self, event: &str) -> usize {
        let lines = self.lines();
        lines.iter().filter(|line| line["event"] == event).count()
    }

    /// Waits until the ledger has this many of an event.
    pub(crate) async fn wait_for(&self, event: &str, count: usize) {
        within(event, async {
            while self.count(event) < count {
                sleep(10 * MS).await;
            }
        })
        .await;
    }

    /// A hostile server on stdio.
    pub(crate) fn stdio(&self, arguments: &[&str]) -> ChildProcess {
        ChildProcess::new(program("hostile"))
            .arg("--ledger")
            .arg(&self.0)
            .args(arguments)
            .start_timeout(120 * SECOND)
    }

    /// One on HTTP, which is started again whenever it ends.
    pub(crate) async fn http(&self, arguments: &[&str]) -> HttpServer {
        let command = |address: &str| {
            let mut command = Command::new(program("hostile"));
            command
                .arg("--ledger")
                .arg(&self.0)
                .args(["--http", address])
                .args(arguments);
            command
        };
        let port = Port::new();
        let mut again = command(&port.address.to_string());
        let (process, url) = Process::start(&mut again).await;
        let process = Arc::new(Mutex::new(Some(process)));
        let kept = Arc::clone(&process);
        let keeper = tokio::spawn(async move {
            loop {
                sleep(5 * MS).await;
                let has_ended = kept
                    .lock()
                    .unwrap()
                    .as_mut()
                    .is_some_and(Process::has_ended);
                if has_ended {
                    let (next, _) = Process::start(&mut again).await;
                    *kept.lock().unwrap() = Some(next);
                }
            }
        });
        HttpServer {
            url,
            process,
            keeper,
            _port: port,
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A hostile server on HTTP, and who starts it again. Both end when this is dropped.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    process: Arc<Mutex<Option<Process>>>,
    keeper: JoinHandle<()>,
    _port: Port,
}

impl HttpServer {
    pub(crate) fn connector(&self) -> Http {
        Http::new(&*self.url).start_timeout(120 * SECOND)
    }

    /// Ends it; it is started again.
    pub(crate) fn kill(&self) {
        if let Some(process) = self.process.lock().unwrap().as_mut() {
            process.kill();
        }
    }

    /// Ends it for good.
    pub(crate) fn end(&self) {
        self.keeper.abort();
        *self.process.lock().unwrap() = None;
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.end();
    }
}
