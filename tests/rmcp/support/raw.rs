use super::within;
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

/// A client in this process that speaks raw JSON-RPC, for what rmcp's own would not say or read.
pub(crate) struct Raw {
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    id: u64,
}

impl Raw {
    /// Serves the handler. No message has been sent yet.
    pub(crate) fn open<H: ServerHandler>(server: H) -> Self {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            if let Ok(running) = server.serve(far).await {
                running.waiting().await.unwrap();
            }
        });
        Self::over(near)
    }

    /// A raw client for the other end.
    pub(crate) fn over(near: DuplexStream) -> Self {
        let (from, to) = tokio::io::split(near);
        Self {
            to,
            from: BufReader::new(from).lines(),
            id: 0,
        }
    }

    /// The handshake of the revisions that have sessions.
    pub(crate) async fn initialize(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
            "clientInfo": {"name": "raw", "version": "1"},
        });
        let answer = self.request("initialize", params).await;
        self.notify("notifications/initialized", json!({})).await;
        answer
    }

    /// The answer to a request; its id is taken out.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        loop {
            let mut message = self.next().await.expect("an answer");
            if message["id"] == id {
                message["id"].take();
                return message;
            }
        }
    }

    /// Begins a request, and gives its id.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        let message = json!({
            "jsonrpc": "2.0", "id": self.id, "method": method, "params": params,
        });
        self.write(&message).await;
        self.id
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(&message).await;
    }

    async fn write(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let writing = self.to.write_all(line.as_bytes());
        within("room for a line", writing).await.unwrap();
    }

    /// The next message, or none once the server has closed.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = within("a line", self.from.next_line()).await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Closes its side for writing, as a client does that leaves.
    pub(crate) async fn leave(&mut self) {
        self.to.shutdown().await.unwrap();
    }
}

/// Parameters with what the revision without sessions wants in each request.
pub(crate) fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        },
    });
    params
}
