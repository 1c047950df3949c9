use super::refused::Refusals;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

/// A writer that takes everything at once, and its other end.
///
/// tower-mcp reads and writes in one loop. Without this, a client that does not read its answers
/// would also stop the server from reading.
pub(super) fn queue(
    to: impl AsyncWrite + Unpin,
    refusals: Refusals,
) -> (QueueWriter, impl Future<Output = io::Result<()>>) {
    let (queued, chunks) = unbounded_channel();
    (QueueWriter { queued, refusals }, write_all(chunks, to))
}

async fn write_all(
    mut chunks: UnboundedReceiver<Vec<u8>>,
    mut to: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(mut chunk) = chunks.recv().await {
        // An answer and the end of its line come one after the other.
        while let Ok(more) = chunks.try_recv() {
            chunk.extend(more);
        }
        to.write_all(&chunk).await?;
        to.flush().await?;
    }
    Ok(())
}

/// Fails if the other end is gone.
pub(super) struct QueueWriter {
    queued: UnboundedSender<Vec<u8>>,
    refusals: Refusals,
}

impl AsyncWrite for QueueWriter {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.refusals.look(bytes);
        let queued = self.queued.send(bytes.to_vec());
        Poll::Ready(match queued {
            Ok(()) => Ok(bytes.len()),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
