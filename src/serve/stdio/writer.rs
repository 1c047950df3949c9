use std::{
    io::{self, Write},
    pin::Pin,
    sync::mpsc,
    task::{Context, Poll, ready},
    thread,
};
use tokio::{
    io::AsyncWrite,
    sync::mpsc::{Receiver, Sender, channel},
};

/// The most that one write takes.
const CHUNK: usize = 64 * 1024;

/// stdout, written on a thread of its own. See [`stdio`](super::stdio()).
#[derive(Default)]
pub struct StdoutWriter {
    // `None` until the first write, and after the shutdown.
    writing: Option<Writing>,
}

struct Writing {
    chunks: mpsc::Sender<Vec<u8>>,
    written: Receiver<io::Result<()>>,
    // At most one chunk is on its way.
    is_busy: bool,
}

impl Writing {
    fn start() -> io::Result<Self> {
        let (chunks, waiting) = mpsc::channel();
        let (done, written) = channel(1);
        thread::Builder::new()
            .name("mcp-stdout".to_owned())
            .spawn(move || write_all(&waiting, &done))?;
        Ok(Self {
            chunks,
            written,
            is_busy: false,
        })
    }

    /// Waits until the last chunk is written.
    fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_busy {
            return Poll::Ready(Ok(()));
        }
        let written = ready!(self.written.poll_recv(cx));
        self.is_busy = false;
        Poll::Ready(written.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into())))
    }
}

impl AsyncWrite for StdoutWriter {
    /// Takes up to 64 KiB, once the previous write is done.
    ///
    /// Fails if the previous write failed, or no thread can be started.
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let writing = match &mut self.get_mut().writing {
            Some(writing) => writing,
            none => none.insert(Writing::start()?),
        };
        ready!(writing.poll_done(cx))?;
        let taken = bytes.len().min(CHUNK);
        if writing.chunks.send(bytes[..taken].to_vec()).is_err() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        writing.is_busy = true;
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().writing {
            Some(writing) => writing.poll_done(cx),
            None => Poll::Ready(Ok(())),
        }
    }

    /// Flushes and ends the thread. stdout itself stays open.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(self.as_mut().poll_flush(cx));
        self.writing = None;
        Poll::Ready(flushed)
    }
}

debug_name!(StdoutWriter);

fn write_all(chunks: &mpsc::Receiver<Vec<u8>>, done: &Sender<io::Result<()>>) {
    let mut stdout = io::stdout();
    for chunk in chunks {
        let written = stdout.write_all(&chunk).and_then(|()| stdout.flush());
        // There is room: the next chunk comes after the result of this one.
        if done.blocking_send(written).is_err() {
            return;
        }
    }
}
