use super::{
    Unread,
    asked::Running,
    read::{Found, read, read_last},
};
use crate::{
    failure::Failure,
    rmcp::wire::{Line, Lines},
};
use ::rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use std::{collections::VecDeque, io};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite, BufReader, Empty, empty},
    task::yield_now,
};

/// How many lines without a message are read before other tasks get a turn: a server may write them
/// for ever.
const LINES: u32 = 32;

/// A request was not written completely. No server has read it, since the end of its line is missing.
#[derive(Debug, Error)]
#[error("the request could not be written")]
pub(in crate::rmcp::client) struct NotWritten(#[source] io::Error);

/// rmcp's transport over two streams, with another reader.
pub(in crate::rmcp::client) struct Stdio<R, W: AsyncWrite> {
    lines: Lines<BufReader<R>>,
    writer: AsyncRwTransport<RoleClient, Empty, W>,
    running: Running,
    /// Messages that are not passed on yet.
    found: VecDeque<ServerJsonRpcMessage>,
    unread: Unread,
    /// Lines without a message since other tasks had a turn.
    skipped: u32,
}

impl<R, W> Stdio<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(in crate::rmcp::client) fn new(reader: R, writer: W, unread: Unread) -> Self {
        Self {
            lines: Lines::new(BufReader::new(reader)),
            writer: AsyncRwTransport::new_client(empty(), writer),
            running: Running::default(),
            found: VecDeque::new(),
            unread,
            skipped: 0,
        }
    }

    fn take(&mut self, line: Line) {
        let found = match line {
            Line::Whole(line) => read(&line, &mut self.running),
            // Without its end, an answer may still be complete.
            Line::Last(line) => read_last(&line, &mut self.running),
            Line::Long(long) => long.read(&mut self.running),
            Line::LastLong(long) => return self.unread.tell(long.cut_off()),
        };
        for found in found {
            match found {
                Found::Message(message) | Found::Answer { message, .. } => {
                    self.found.push_back(message);
                }
                Found::Foreign => tracing::debug!("skipped an answer to an unknown request"),
                Found::Unreadable(unreadable) => self.unread.tell(unreadable),
            }
        }
    }
}

impl<R, W> Transport<RoleClient> for Stdio<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = NotWritten;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), NotWritten>> + Send + 'static {
        self.running.note(&message);
        let written = self.writer.send(message);
        async move { written.await.map_err(NotWritten) }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.found.pop_front() {
                return Some(message);
            }
            self.skipped += 1;
            if self.skipped >= LINES {
                self.skipped = 0;
                yield_now().await;
            }
            match self.lines.next().await {
                Ok(Some(line)) => self.take(line),
                Ok(None) => return None,
                Err(error) => {
                    let failure = Failure::connection("cannot read from the tool server");
                    let failure = failure.because(error);
                    tracing::warn!(error = %failure.chain(), "the connection is lost");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), NotWritten> {
        self.writer.close().await.map_err(NotWritten)
    }
}
