use std::io;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// One connection of a client, in bytes.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    // Bytes that are read but not yet parsed.
    read: Vec<u8>,
}

/// The parts of a request that this server uses.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) session: Option<String>,
    /// Whether it is the last one of its connection.
    pub(crate) is_last: bool,
    length: usize,
    pub(crate) body: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        let read = Vec::new();
        Self { stream, read }
    }

    /// The next request. `None` if the client has closed the connection.
    pub(crate) async fn request(&mut self) -> io::Result<Option<Request>> {
        let (head, mut request) = loop {
            if let Some(found) = Request::parse(&self.read)? {
                break found;
            }
            if !self.read_more().await? {
                return Ok(None);
            }
        };
        while self.read.len() < head + request.length {
            if !self.read_more().await? {
                return Ok(None);
            }
        }
        request.body = self.read[head..head + request.length].to_vec();
        self.read.drain(..head + request.length);
        Ok(Some(request))
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Waits until the client has closed the connection. Discards further input.
    pub(crate) async fn hung_up(&mut self) -> io::Result<()> {
        while self.read_more().await? {
            self.read.clear();
        }
        Ok(())
    }

    /// Lets the connection end with a reset.
    pub(crate) fn reset(&self) -> io::Result<()> {
        self.stream.set_zero_linger()
    }

    async fn read_more(&mut self) -> io::Result<bool> {
        Ok(self.stream.read_buf(&mut self.read).await? > 0)
    }
}

impl Request {
    /// The head of a request and its length, once it is there.
    fn parse(bytes: &[u8]) -> io::Result<Option<(usize, Self)>> {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(bytes).map_err(io::Error::other)?;
        let httparse::Status::Complete(head) = parsed else {
            return Ok(None);
        };
        let header = |name: &str| {
            let mut headers = request.headers.iter();
            let found = headers.find(|header| header.name.eq_ignore_ascii_case(name))?;
            str::from_utf8(found.value).ok()
        };
        let length = match header("Content-Length") {
            Some(length) => length.parse().map_err(io::Error::other)?,
            None => 0,
        };
        let request = Self {
            method: request.method.unwrap_or_default().to_owned(),
            path: request.path.unwrap_or_default().to_owned(),
            session: header("Mcp-Session-Id").map(str::to_owned),
            is_last: header("Connection").is_some_and(|how| how.eq_ignore_ascii_case("close")),
            length,
            body: Vec::new(),
        };
        Ok(Some((head, request)))
    }
}

/// The head of a response so far.
#[derive(Debug)]
pub(crate) struct Head(String);

impl Head {
    pub(crate) fn new(status: u16) -> Self {
        // The reason phrase may be empty.
        Self(format!("HTTP/1.1 {status} \r\n"))
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.0.extend([name, ": ", value, "\r\n"]);
        self
    }

    /// Completes the head, and appends the body.
    pub(crate) fn body(self, content_type: &str, body: &str) -> Vec<u8> {
        self.body_of(content_type, body.as_bytes())
    }

    /// The same for bytes.
    pub(crate) fn body_of(self, content_type: &str, body: &[u8]) -> Vec<u8> {
        let length = body.len().to_string();
        let head = self.header("Content-Type", content_type);
        let Self(head) = head.header("Content-Length", &length);
        [head.as_bytes(), b"\r\n", body].concat()
    }

    /// Completes the head of an event stream.
    pub(crate) fn stream(self) -> Vec<u8> {
        let head = self.header("Content-Type", "text/event-stream");
        let head = head.header("Cache-Control", "no-cache");
        let Self(head) = head.header("Transfer-Encoding", "chunked");
        format!("{head}\r\n").into_bytes()
    }
}

/// A chunk of a stream.
pub(crate) fn chunk(text: &str) -> Vec<u8> {
    chunk_of(text.as_bytes())
}

/// The same for bytes.
pub(crate) fn chunk_of(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// The end of a stream.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
