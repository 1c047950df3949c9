use crate::serve::{StdinReader, StdoutWriter, stdio};
use ::rmcp::transport::{StdioReader, StdioWriter};
use std::any::Any;
use tokio::io::{Join, Stdin, Stdout};

/// What stands for a transport.
pub(super) enum Recognized<T> {
    /// It was stdin and stdout as tokio has them.
    Stdio((StdinReader, StdoutWriter)),
    /// Any other transport, as it was.
    Other(T),
}

/// Exchanges a transport that is nothing but tokio's stdin and stdout. No input is lost: a handle
/// holds none before its first read, and what std has read ahead is read by the exchange too.
pub(super) fn recognize<T: Any>(transport: T) -> Recognized<T> {
    let any = &transport as &dyn Any;
    let is_stdio = any.is::<(Stdin, Stdout)>()
        || any.is::<Join<Stdin, Stdout>>()
        || (any.is::<(StdioReader, StdioWriter)>() && !are_pipes());
    if is_stdio {
        Recognized::Stdio(stdio())
    } else {
        Recognized::Other(transport)
    }
}

/// Whether rmcp's `stdio_pipes` drives both without threads of the runtime. Else it falls back to
/// tokio's handles.
#[cfg(target_os = "linux")]
fn are_pipes() -> bool {
    use std::{
        fs::File,
        io,
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
