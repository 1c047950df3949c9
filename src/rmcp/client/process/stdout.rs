use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, ReadBuf},
    process::ChildStdout,
    sync::oneshot,
};

/// The stdout of a process. Dropping it signals that there is no reader.
#[derive(Debug)]
pub(in crate::rmcp::client) struct Stdout {
    stdout: ChildStdout,
    _is_read: oneshot::Sender<()>,
}

impl Stdout {
    pub(super) fn new(stdout: ChildStdout) -> (Self, oneshot::Receiver<()>) {
        let (is_read, unread) = oneshot::channel();
        let stdout = Self {
            stdout,
            _is_read: is_read,
        };
        (stdout, unread)
    }
}

impl AsyncRead for Stdout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdout).poll_read(cx, buf)
    }
}
