use std::{collections::VecDeque, io, sync::Arc};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::Mutex,
};

/// Writes lines to a stream, each whole: a write that is given up half way goes on with the next.
#[derive(Debug)]
pub(super) struct Writer<W>(Arc<Mutex<Option<Out<W>>>>);

#[derive(Debug)]
struct Out<W> {
    stream: W,
    lines: Vec<u8>,
    written: usize,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(super) fn new(stream: W) -> Self {
        Self(Arc::new(Mutex::new(Some(Out {
            stream,
            lines: Vec::new(),
            written: 0,
        }))))
    }

    /// Writes lines with their ends. A future that is dropped loses none: what it has taken of them is
    /// written by the next.
    pub(super) async fn write(&self, lines: &mut VecDeque<Vec<u8>>) -> io::Result<()> {
        let mut out = self.0.lock().await;
        let out = out.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        for line in lines.drain(..) {
            if out.lines.is_empty() {
                out.lines = line;
            } else {
                out.lines.extend_from_slice(&line);
            }
        }
        out.flush().await
    }

    /// Closes the stream.
    pub(super) async fn close(&self) {
        drop(self.0.lock().await.take());
    }
}

impl<W: AsyncWrite + Unpin> Out<W> {
    async fn flush(&mut self) -> io::Result<()> {
        while self.written < self.lines.len() {
            let written = self.stream.write(&self.lines[self.written..]).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written += written;
        }
        self.lines.clear();
        self.written = 0;
        self.stream.flush().await
    }
}

impl<W> Clone for Writer<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
