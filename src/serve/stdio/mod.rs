//! stdin and stdout on plain threads, which do not delay the end of the process.

mod reader;
mod writer;

pub use self::{reader::StdinReader, writer::StdoutWriter};

/// stdin and stdout as a transport whose end does not wait for the client.
///
/// tokio reads stdin and writes stdout on threads of the runtime, and dropping a runtime waits for
/// them. So a `main` that returns would hang while the client keeps stdin open, or does not read
/// stdout. These halves use plain threads, and the process ends when `main` returns.
///
/// `Resilient::run` uses them by itself for known transports, such as rmcp's `stdio()`. Use this
/// function for a transport of your own around stdin and stdout:
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
/// The threads start with the first use. The reading thread cannot be stopped while it waits for
/// input: after the reader is dropped, the thread ends with the next input, which is lost, or with
/// the process.
#[must_use]
pub fn stdio() -> (StdinReader, StdoutWriter) {
    (StdinReader::default(), StdoutWriter::default())
}
