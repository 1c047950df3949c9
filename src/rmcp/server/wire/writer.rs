use crate::lock::Mutex;
use std::{io, mem, sync::Arc};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync,
};

/// A larger buffer is freed.
const KEPT: usize = 64 * 1024;

/// Writes complete lines to a stream. If a write is dropped half way, the next goes on with it. The
/// buffers are reused, so that a line costs no allocation.
#[derive(Debug)]
pub(super) struct Writer<W>(Arc<Shared<W>>);

#[derive(Debug)]
struct Shared<W> {
    /// Lines that are not being written yet.
    waiting: Mutex<Vec<u8>>,
    out: sync::Mutex<Option<Out<W>>>,
}

#[derive(Debug)]
struct Out<W> {
    stream: W,
    lines: Vec<u8>,
    written: usize,
    /// The first failure is final: later lines might not be complete.
    failed: Option<io::ErrorKind>,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(super) fn new(stream: W) -> Self {
        Self(Arc::new(Shared {
            waiting: Mutex::default(),
            out: sync::Mutex::new(Some(Out {
                stream,
                lines: Vec::new(),
                written: 0,
                failed: None,
            })),
        }))
    }

    /// Adds a line with its end, for the next [`flush`](Self::flush). If a line cannot be made,
    /// nothing is added.
    pub(super) fn add(&self, line: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        let mut waiting = self.0.waiting.lock();
        let before = waiting.len();
        let added = line(&mut waiting);
        if added.is_err() {
            waiting.truncate(before);
        }
        added
    }

    /// Writes all added lines. If the future is dropped, the next call writes the rest.
    pub(super) async fn flush(&self) -> io::Result<()> {
        let mut out = self.0.out.lock().await;
        let out = out.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        out.take(&mut self.0.waiting.lock());
        out.flush().await
    }

    /// Closes the stream.
    pub(super) async fn close(&self) {
        drop(self.0.out.lock().await.take());
    }
}

impl<W: AsyncWrite + Unpin> Out<W> {
    fn take(&mut self, waiting: &mut Vec<u8>) {
        if self.lines.is_empty() {
            mem::swap(&mut self.lines, waiting);
        } else {
            self.lines.append(waiting);
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        if let Some(kind) = self.failed {
            self.lines.clear();
            return Err(kind.into());
        }
        let flushed = self.write_all().await;
        self.failed = flushed.as_ref().err().map(io::Error::kind);
        flushed
    }

    async fn write_all(&mut self) -> io::Result<()> {
        while self.written < self.lines.len() {
            let written = self.stream.write(&self.lines[self.written..]).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written += written;
        }
        self.written = 0;
        if self.lines.capacity() > KEPT {
            self.lines = Vec::new();
        }
        self.lines.clear();
        self.stream.flush().await
    }
}

impl<W> Clone for Writer<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
