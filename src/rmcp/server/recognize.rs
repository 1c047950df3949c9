use crate::{
    rmcp::LineTransport,
    serve::{StdinReader, StdoutWriter, stdio},
};
use ::rmcp::transport::{StdioReader, StdioWriter};
use std::{
    any::Any,
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::io::{
    AsyncRead, AsyncWrite, DuplexStream, Join, ReadBuf, ReadHalf, Stdin, Stdout, WriteHalf, split,
};

/// The type that represents a transport.
pub(super) enum Recognized<T> {
    /// It was two streams of known types.
    Streams(Box<LineTransport<Input, Output>>),
    /// Any other transport, as it was.
    Other(T),
}

/// Replaces a transport over tokio's stdin and stdout by handles of our own, and reads these and
/// other known streams by [`LineTransport`]. No input is lost: a handle holds none before its first
/// read, and the replacement reads what std has buffered.
pub(super) fn recognize<T: Any>(transport: T) -> Recognized<T> {
    let mut transport = Some(transport);
    let any = &mut transport as &mut dyn Any;
    if take::<(Stdin, Stdout)>(any).is_some() || take::<Join<Stdin, Stdout>>(any).is_some() {
        return streams(stdio());
    }
    if let Some(pair) = take::<(StdinReader, StdoutWriter)>(any) {
        return streams(pair);
    }
    if let Some(pair) = take::<(StdioReader, StdioWriter)>(any) {
        return if are_pipes() {
            streams(pair)
        } else {
            streams(stdio())
        };
    }
    if let Some(stream) = take::<DuplexStream>(any) {
        return streams(split(stream));
    }
    if let Some(pair) = take::<(ReadHalf<DuplexStream>, WriteHalf<DuplexStream>)>(any) {
        return streams(pair);
    }
    match transport {
        Some(transport) => Recognized::Other(transport),
        None => unreachable!("a transport that is taken is returned at once"),
    }
}

/// The transport, if it is of that type.
fn take<T: Any>(transport: &mut dyn Any) -> Option<T> {
    transport.downcast_mut::<Option<T>>()?.take()
}

fn streams<T, R, W>((read, write): (R, W)) -> Recognized<T>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    Recognized::Streams(Box::new(LineTransport::new(
        Input::new(read),
        Output::new(write),
    )))
}

/// Whether rmcp's `stdio_pipes` drives both without threads of the runtime. Else it falls back to
/// tokio's handles.
#[cfg(target_os = "linux")]
fn are_pipes() -> bool {
    use std::{
        fs::File,
        os::{fd::AsFd, unix::fs::FileTypeExt},
    };

    let is_pipe = |fd: std::os::fd::BorrowedFd<'_>| {
        let file = fd.try_clone_to_owned().map(File::from);
        let metadata = file.and_then(|file| file.metadata());
        metadata.is_ok_and(|metadata| metadata.file_type().is_fifo())
    };
    is_pipe(io::stdin().as_fd()) && is_pipe(io::stdout().as_fd())
}

#[cfg(not(target_os = "linux"))]
fn are_pipes() -> bool {
    false
}

/// A stream of any type to read from. It has a type of its own, because the compiler does not see
/// futures as `Send` that hold a bare trait object across an await.
pub(super) struct Input(Box<dyn AsyncRead + Send + Unpin>);

/// The same, to write to.
pub(super) struct Output(Box<dyn AsyncWrite + Send + Unpin>);

impl Input {
    fn new(stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        Self(Box::new(stream))
    }
}

impl Output {
    fn new(stream: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self(Box::new(stream))
    }
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Output {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
