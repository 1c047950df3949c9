use std::{
    io::{self, Read},
    pin::Pin,
    task::{Context, Poll, ready},
    thread,
};
use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::mpsc::{Receiver, Sender, channel},
};

/// The most that one read takes: the size of a pipe on Linux.
const CHUNK: usize = 64 * 1024;

/// stdin, read on a thread of its own. See [`stdio`](super::stdio()).
#[derive(Default)]
pub struct StdinReader {
    // `None` until the first read.
    chunks: Option<Receiver<io::Result<Vec<u8>>>>,
    chunk: Vec<u8>,
    taken: usize,
}

impl AsyncRead for StdinReader {
    /// Fails if stdin cannot be read, or no thread can be started for it.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.taken == this.chunk.len() {
            let chunks = match &mut this.chunks {
                Some(chunks) => chunks,
                none => none.insert(start()?),
            };
            match ready!(chunks.poll_recv(cx)) {
                Some(chunk) => this.chunk = chunk?,
                // The end of the input: nothing is put into the buffer.
                None => return Poll::Ready(Ok(())),
            }
            this.taken = 0;
        }
        let left = &this.chunk[this.taken..];
        let taken = left.len().min(buf.remaining());
        buf.put_slice(&left[..taken]);
        this.taken += taken;
        Poll::Ready(Ok(()))
    }
}

debug_name!(StdinReader);

fn start() -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    // The thread reads one chunk ahead.
    let (to, chunks) = channel(1);
    thread::Builder::new()
        .name("mcp-stdin".to_owned())
        .spawn(move || read_all(&to))?;
    Ok(chunks)
}

fn read_all(to: &Sender<io::Result<Vec<u8>>>) {
    // Not a file of our own: std may have buffered input for an earlier reader in this process.
    let mut stdin = io::stdin();
    let mut buffer = vec![0; CHUNK];
    loop {
        let chunk = match stdin.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => Ok(buffer[..read].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_over = chunk.is_err();
        if to.blocking_send(chunk).is_err() || is_over {
            return;
        }
    }
}
