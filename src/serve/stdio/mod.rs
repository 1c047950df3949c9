//! stdin and stdout on plain threads, which do not hold up the end of the process.

mod reader;
mod writer;

pub use self::{reader::StdinReader, writer::StdoutWriter};

/// stdin and stdout as a transport whose end does not wait for the client.
///
/// tokio reads stdin and writes stdout on threads of the runtime, and a runtime that is dropped waits
/// for them: a `main` that returns hangs while the client keeps stdin open, or does not read stdout.
/// These halves use plain threads instead, and the process ends when `main` returns.
///
/// `Resilient::run` makes this exchange by itself for the transports that it can recognize, among them
/// rmcp's `stdio()`. Use this function for a transport of your own around stdin and stdout:
///
/// ```
/// use mcp_resilience::rmcp::stdio;
/// use rmcp::{RoleServer, transport::async_rw::AsyncRwTransport};
///
/// let (stdin, stdout) = stdio();
/// let transport = AsyncRwTransport::<RoleServer, _, _>::new(stdin, stdout)
///     .with_max_line_length(1 << 20);
/// # let _ = transport;
/// ```
///
/// The threads start with the first use. The thread that reads cannot be stopped while it waits
/// for input: when the reader is dropped, the thread ends with the next input, which is lost, or
/// with the process.
#[must_use]
pub fn stdio() -> (StdinReader, StdoutWriter) {
    (StdinReader::default(), StdoutWriter::default())
}
