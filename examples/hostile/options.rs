use clap::{Args, Parser, ValueEnum};
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// A hostile MCP server for tests of clients
#[derive(Debug, Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Options {
    /// The ledger file, to which events are appended as JSON lines
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: PathBuf,
    /// Serve streamable HTTP at /mcp on this address, instead of stdio
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    /// Exit after this many seconds at the latest
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "120")]
    pub(crate) life: Duration,
    /// The hints of the tools
    #[arg(long, value_enum, default_value_t)]
    pub(crate) annotations: Annotations,
    /// Give the tools no hints
    #[arg(long, conflicts_with = "annotations")]
    pub(crate) no_annotations: bool,
    /// How a POST is answered
    #[arg(long, value_enum, default_value_t, requires = "http")]
    pub(crate) answer: Answer,
    /// Answer a GET with a stream that stays open
    #[arg(long, requires = "http")]
    pub(crate) get_stream: bool,
    /// Serve one resource, which can be read and subscribed to
    #[arg(long)]
    pub(crate) resource: bool,
    /// Answer requests of unknown sessions with 400 and an error without an id
    #[arg(long = "stale-400", requires = "http")]
    pub(crate) stale_400: bool,
    #[command(flatten)]
    faults: StartFaults,
    /// The first start in the ledger that has the startup faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    start_fault_from: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Annotations {
    #[default]
    Honest,
    /// From the second start on, `look` and `book` have each other's hints
    Swapped,
    /// From the first start on, `look` and `book` have each other's hints
    Lying,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Answer {
    Json,
    #[default]
    Sse,
}

/// The startup faults.
#[derive(Args, Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct StartFaults {
    /// Never answer initialize
    #[arg(long)]
    pub(crate) mute: bool,
    /// Answer nothing for this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) slow_start: Option<Duration>,
    /// Fail this many first starts
    #[arg(long, value_name = "N", default_value_t)]
    crash_starts: usize,
    /// Begin with lines that are not JSON
    #[arg(long)]
    pub(crate) start_noise: bool,
    /// Answer initialize with this HTTP status
    #[arg(long, value_name = "STATUS", requires = "http")]
    pub(crate) start_status: Option<u16>,
    /// Answer initialize with this version of the protocol
    #[arg(long, value_name = "VERSION")]
    pub(crate) protocol: Option<String>,
    /// Answer every message with text that is not JSON-RPC
    #[arg(long)]
    pub(crate) not_mcp: bool,
    /// Answer tools/list with an error
    #[arg(long)]
    pub(crate) list_error: bool,
    /// Never answer tools/list
    #[arg(long)]
    pub(crate) list_mute: bool,
    /// Run for this many seconds after the end of stdin, and ignore SIGTERM
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) linger: Option<Duration>,
}

impl Options {
    /// The faults of the n-th start.
    pub(crate) fn faults_of(&self, start: usize) -> StartFaults {
        if start < self.start_fault_from {
            return StartFaults::default();
        }
        self.faults.clone()
    }

    /// Whether the n-th start fails at once.
    pub(crate) fn crashes_at(&self, start: usize) -> bool {
        let nth_with_faults = start.checked_sub(self.start_fault_from);
        nth_with_faults.is_some_and(|nth| nth < self.faults.crash_starts)
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
