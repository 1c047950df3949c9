use serde_json::{Value, json};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
};

/// The output of `future`. Fails the test if it takes too long, which is far beyond the usual time.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let limited = tokio::time::timeout(Duration::from_secs(300), future).await;
    limited.unwrap_or_else(|_| panic!("waited too long for {what}"))
}

/// The ledger of one test.
pub(crate) struct Ledger(PathBuf);

impl Ledger {
    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Relaxed);
        let name = format!("hostile-{}-{number}.jsonl", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    /// All its lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.0).unwrap();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// How often an event is there for a key.
    pub(crate) fn count(&self, event: &str, key: &str) -> usize {
        let lines = self.lines().into_iter();
        lines
            .filter(|line| line["event"] == event && line["key"] == key)
            .count()
    }

    /// The server on this ledger, on stdio unless the arguments say otherwise.
    pub(crate) fn start(&self, arguments: &[&str]) -> Server {
        let mut process = Command::new(program())
            .arg("--ledger")
            .arg(&self.0)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Server {
            stdin: process.stdin.take(),
            stdout: BufReader::new(process.stdout.take().unwrap()),
            stderr: BufReader::new(process.stderr.take().unwrap()),
            process,
        }
    }

    /// The server on a free port, and its address.
    pub(crate) async fn start_http(&self, arguments: &[&str]) -> (Server, Http) {
        let arguments = [&["--http", "127.0.0.1:0"], arguments].concat();
        let mut server = self.start(&arguments);
        let url = server.complaint().await;
        let address = url.strip_prefix("http://").unwrap();
        let address = address.strip_suffix("/mcp").unwrap().to_owned();
        (server, Http { address })
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The server process, killed when this is dropped.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl Server {
    pub(crate) async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).await.unwrap();
    }

    pub(crate) async fn line(&mut self) -> String {
        let mut line = String::new();
        within("a line", self.stdout.read_line(&mut line))
            .await
            .unwrap();
        line
    }

    pub(crate) async fn message(&mut self) -> Value {
        let line = self.line().await;
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line:?}"))
    }

    /// The answer to a call with the fault.
    pub(crate) async fn call(&mut self, id: u32, key: &str, fault: Value) -> Value {
        self.send(&call(id, key, fault)).await;
        self.message().await
    }

    /// A line on stderr.
    pub(crate) async fn complaint(&mut self) -> String {
        let mut line = String::new();
        let read = self.stderr.read_line(&mut line);
        within("a line on stderr", read).await.unwrap();
        line.trim_end().to_owned()
    }

    /// The rest of stdout, and the exit code.
    pub(crate) async fn ended(&mut self) -> (String, Option<i32>) {
        let mut rest = String::new();
        let read = self.stdout.read_to_string(&mut rest);
        within("the end of stdout", read).await.unwrap();
        let status = within("the end of the process", self.process.wait()).await;
        (rest, status.unwrap().code())
    }
}

/// The HTTP address of a server. Each exchange uses a new socket.
pub(crate) struct Http {
    pub(crate) address: String,
}

impl Http {
    /// Opens a session.
    pub(crate) async fn session(&self) -> String {
        let response = self.post(None, &initialize()).await;
        let (_, rest) = response.split_once("Mcp-Session-Id: ").unwrap();
        rest.split_once("\r\n").unwrap().0.to_owned()
    }

    /// The whole response to a message, as it came.
    pub(crate) async fn post(&self, session: Option<&str>, message: &Value) -> String {
        let message = message.to_string();
        let asked = self.ask("POST", session, &message);
        within("a response", asked).await.unwrap()
    }

    /// The whole response to a call with the fault, as it came.
    pub(crate) async fn call(&self, session: &str, key: &str, fault: Value) -> String {
        self.post(Some(session), &call(1, key, fault)).await
    }

    /// The bytes that arrive for an unanswered request, up to this end, and the open connection.
    pub(crate) async fn ask_in_vain(
        &self,
        session: Option<&str>,
        message: &Value,
        end: &str,
    ) -> (String, TcpStream) {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let request = request("POST", session, "keep-alive", &message.to_string());
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut read = Vec::new();
        while !String::from_utf8_lossy(&read).contains(end) {
            let more = within("the rest", stream.read_buf(&mut read)).await;
            assert!(more.unwrap() > 0, "it hung up");
        }
        let patience = Duration::from_millis(300);
        while let Ok(more) = tokio::time::timeout(patience, stream.read_buf(&mut read)).await {
            assert!(more.unwrap() > 0, "it hung up");
        }
        (String::from_utf8(read).unwrap(), stream)
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        session: Option<&str>,
        body: &str,
    ) -> io::Result<String> {
        let mut stream = TcpStream::connect(&self.address).await?;
        let request = request(method, session, "close", body);
        stream.write_all(request.as_bytes()).await?;
        let mut response = String::new();
        stream.read_to_string(&mut response).await?;
        Ok(response)
    }
}

pub(crate) fn request(method: &str, session: Option<&str>, how: &str, body: &str) -> String {
    let session = session.map_or(String::new(), |id| format!("mcp-session-id: {id}\r\n"));
    let length = body.len();
    format!(
        "{method} /mcp HTTP/1.1\r\nhost: x\r\n{session}connection: {how}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

pub(crate) fn initialize() -> Value {
    let client = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

pub(crate) fn call(id: u32, key: &str, fault: Value) -> Value {
    let mut params = json!({"name": "book", "arguments": {"key": key}});
    params["arguments"]["fault"] = fault;
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

pub(crate) fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {answer}"))
}

/// Examples are built beside the tests: `target/PROFILE/{deps,examples}`.
fn program() -> PathBuf {
    let test = env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile
        .join("examples")
        .join(format!("hostile{}", env::consts::EXE_SUFFIX));
    let missing = "build the examples (`cargo build --examples`, with the profile of the tests)";
    assert!(program.exists(), "{}: {missing}", program.display());
    program
}
