use super::{
    ids::Ids,
    read::{Found, broken},
    refused::{self, Refused},
    text::{Skipped, Text},
    writer::Writer,
};
use crate::{
    call::Method,
    failure::Failure,
    lock::Mutex,
    rmcp::wire::{Line, Lines, Long, Told, Unreadable, skipped},
};
use ::rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ClientNotification, JsonRpcMessage},
    service::TxJsonRpcMessage,
    transport::Transport,
};
use std::{collections::VecDeque, io, sync::Arc};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};

/// A transport of lines that answers every request with an id, also one that rmcp cannot read.
///
/// rmcp's own transport drops such a request, or answers it without its id, so the client waits.
/// [`Resilient::run`](crate::rmcp::Resilient::run) uses this transport by itself for stdin and stdout
/// and for a [`DuplexStream`](tokio::io::DuplexStream). For any other two streams:
///
/// ```no_run
/// use mcp_resilience::{fatal::Fatal, rmcp::{LineTransport, Resilient}};
/// # struct Bookshop;
/// # impl rmcp::ServerHandler for Bookshop {}
///
/// # async fn serve(stream: tokio::net::TcpStream) -> Result<(), Fatal> {
/// let (read, write) = stream.into_split();
/// Resilient::new(Bookshop).run(LineTransport::new(read, write)).await
/// # }
/// ```
///
/// [The page of the adapter](crate::rmcp#requests-that-cannot-be-read) says how each input is read. A
/// line has at most 16 MiB. Use it only for [`Resilient`](crate::rmcp::Resilient), which alone can
/// refuse a call in the stack.
pub struct LineTransport<R, W> {
    lines: Lines<BufReader<R>>,
    writer: Writer<W>,
    ids: Arc<Mutex<Ids>>,
    text: Option<Text>,
    /// Messages that are not passed on yet.
    ready: VecDeque<ClientJsonRpcMessage>,
    /// Whether answers of its own still have to be written.
    is_answering: bool,
    told: Told,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    /// Reads messages from one stream and writes them to another.
    pub fn new(read: R, write: W) -> Self {
        Self {
            lines: Lines::new(BufReader::new(read)),
            writer: Writer::new(write),
            ids: Arc::default(),
            text: None,
            ready: VecDeque::new(),
            is_answering: false,
            told: Told::default(),
        }
    }

    /// The next message of the last line.
    fn next_of_line(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut text = self.text.take()?;
        let found = text.next(&mut self.ids.lock());
        if let Some(found) = found {
            self.text = Some(text);
            return self.keep(found);
        }
        let Skipped { text, is_json } = text.skipped()?;
        if is_json {
            let refused = Refused::request(text.reason.clone());
            self.answer(&refused.answer("null"));
        }
        self.tell(text);
        None
    }

    fn keep(&mut self, found: Found) -> Option<ClientJsonRpcMessage> {
        match found {
            Found::Message(message) => {
                if let Some(text) = call_without_id(&message) {
                    self.tell(text);
                }
                Some(*message)
            }
            Found::Refused(answer) => {
                self.answer(&answer);
                None
            }
            // Counted where it was found.
            Found::Nothing(_) => None,
        }
    }

    fn answer(&mut self, line: &[u8]) {
        // Adding a line that is complete cannot fail.
        let _ = self.writer.add(|lines| {
            lines.extend_from_slice(line);
            Ok(())
        });
        self.is_answering = true;
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Whole(line) => self.text = Some(Text::new(line, false)),
            Line::Last(line) => self.text = Some(Text::new(line, true)),
            Line::Long(long) => self.take_long(long),
            Line::LastLong(long) => self.tell(long.cut_off()),
        }
    }

    fn take_long(&mut self, mut long: Long) {
        let mut has_message = false;
        for head in long.heads() {
            let found = broken(head, "it is longer than 16 MiB", &mut self.ids.lock());
            has_message |= !matches!(found, Found::Nothing(_));
            let message = self.keep(found);
            self.ready.extend(message);
        }
        if !has_message {
            self.tell(long.too_long());
        }
    }

    fn tell(&mut self, text: Unreadable) {
        let Some(untold) = self.told.event(&text) else {
            return;
        };
        let failure = skipped("client", text);
        tracing::warn!(error = %failure.chain(), untold = untold, "skipped what the client wrote");
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let writer = self.writer.clone();
        let added = writer.add(|lines| write(&message, &mut self.ids.lock(), lines));
        async move {
            added?;
            writer.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.is_answering {
                if let Err(error) = self.writer.flush().await {
                    let failure = Failure::connection("cannot write to the client").because(error);
                    tracing::warn!(error = %failure.chain(), "the connection is lost");
                    return None;
                }
                self.is_answering = false;
            }
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            if self.text.is_some() {
                match self.next_of_line() {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            match self.lines.next().await {
                Ok(Some(line)) => self.take(line),
                Ok(None) => return None,
                Err(error) => {
                    let failure = Failure::connection("cannot read from the client").because(error);
                    tracing::warn!(error = %failure.chain(), "the connection is lost");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.writer.close().await;
        Ok(())
    }
}

debug_name!(LineTransport<R, W>);

/// Writes a message on one line. An answer has the client's own id.
fn write(
    message: &TxJsonRpcMessage<RoleServer>,
    ids: &mut Ids,
    lines: &mut Vec<u8>,
) -> io::Result<()> {
    match message {
        JsonRpcMessage::Response(response) => {
            if let Some(id) = ids.left(&response.id) {
                lines.extend(refused::answer(&id, "result", &response.result));
                return Ok(());
            }
        }
        JsonRpcMessage::Error(error) => {
            if let Some(id) = error.id.as_ref().and_then(|id| ids.left(id)) {
                lines.extend(refused::answer(&id, "error", &error.error));
                return Ok(());
            }
        }
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
    }
    serde_json::to_writer(&mut *lines, message)?;
    lines.push(b'\n');
    Ok(())
}

/// A call without a request id is not run.
fn call_without_id(message: &ClientJsonRpcMessage) -> Option<Unreadable> {
    let JsonRpcMessage::Notification(sent) = message else {
        return None;
    };
    let ClientNotification::CustomNotification(custom) = &sent.notification else {
        return None;
    };
    Method::of_name(&custom.method)
        .is_some()
        .then(|| Unreadable::new("it is a call without an id", &custom.method))
}
