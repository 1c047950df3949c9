//! Servers that are a child process, over its stdin and stdout.

use super::{
    Connection,
    connector::{dials, settings_of},
    dial::dial,
    process::{Process, Sink},
    settings::Settings,
    transport_parts::TransportParts,
    wire::Stdio as Wire,
};
use crate::{
    call::{Route, Side, Transport},
    failure::{Class, Failure},
    text::shown_name,
};
use ::rmcp::ClientHandler;
use std::{
    ffi::{OsStr, OsString},
    fmt,
    future::ready,
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};
use tokio::process::Command;
use tower::Service;

type Configure = Arc<dyn Fn(&mut Command) + Send + Sync>;

/// Starts a server as a child process, and connects to it.
///
/// On Unix, the child leads a process group of its own, and the processes that it starts end with it.
///
/// Closing runs in the background. It closes the child's stdin, sends the group a `SIGTERM` after 3
/// s, and a `SIGKILL` after 3 s more. Processes that the child left behind are killed then. If the
/// child ended before and other processes of the group serve the connection, closing sends a
/// `SIGTERM` at once and a `SIGKILL` after 3 s. If the runtime ends first, the group is killed.
///
/// The child is reaped after its group has ended, so that the kernel does not give its id to another
/// process in between. Until then, a child that has ended is a zombie. The group is ended as soon as
/// its stdout is closed.
///
/// **A Ctrl-C in a terminal does not reach the child.** If this process ends by a signal, no
/// destructor runs, and the child has to notice the end of its stdin. Wait for the signals and
/// [`close`](super::Client::close) the client instead: see [signals](super#signals).
///
/// The child's stderr goes to `tracing` at INFO, or to a [sink](Self::stderr). If a call is lost with
/// the child, the last lines of stderr and the exit status are the source of its failure. No model
/// sees them.
///
/// | Setting | Default |
/// |---|---|
/// | [`start_timeout`](Self::start_timeout): spawning, the handshake and the list of tools | 10 s |
/// | [`call_timeout`](Self::call_timeout): one call | none: the layers around it have one |
/// | [`lifecycle`](Self::lifecycle) | `initialize` |
///
/// # Errors
///
/// In each case no call was sent.
///
/// | | [Class](crate::Class) |
/// |---|---|
/// | there is no such command, or it may not be run | `Disabled`: it is not repeated |
/// | the child ended, or closed its stdout, before it was ready | `Connection` |
/// | the child was not ready in time | `Timeout` |
/// | the server refused | that of its JSON-RPC error |
/// | the child speaks another protocol | `Disabled` |
///
/// ```no_run
/// use mcp_resilience::rmcp::client::{ChildProcess, Client};
///
/// # async fn run() -> Result<(), mcp_resilience::Failure> {
/// let server = ChildProcess::new("npx")
///     .args(["-y", "@modelcontextprotocol/server-everything"])
///     .env("NO_COLOR", "1")
///     .stderr(|line| eprintln!("server: {line}"));
/// let client = Client::connect(server).await?;
/// # let _ = client;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a connector does nothing until a client gets it"]
pub struct ChildProcess<H = ()> {
    program: OsString,
    arguments: Vec<OsString>,
    // `None` to remove a variable.
    environment: Vec<(OsString, Option<OsString>)>,
    is_clear: bool,
    directory: Option<PathBuf>,
    configure: Option<Configure>,
    stderr: Option<Sink>,
    settings: Settings<H>,
}

impl ChildProcess {
    /// A command without arguments. It is looked up in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            is_clear: false,
            directory: None,
            configure: None,
            stderr: None,
            settings: Settings::default(),
        }
    }
}

impl<H> ChildProcess<H> {
    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter();
        self.arguments
            .extend(arguments.map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets a variable of its environment. By default, it has the environment of this process.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let value = Some(value.as_ref().to_owned());
        self.environment.push((name.as_ref().to_owned(), value));
        self
    }

    /// Sets several variables.
    pub fn envs<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter();
        variables.fold(self, |this, (name, value)| this.env(name, value))
    }

    /// Removes all variables, also those that were set before. Variables that are set later count.
    pub fn env_clear(mut self) -> Self {
        self.environment.clear();
        self.is_clear = true;
        self
    }

    /// Removes a variable.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), None));
        self
    }

    /// Sets its working directory.
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Changes the command of each start, after the other settings: user, priority, limits. Its pipes and its
    /// process group stay those of this crate.
    pub fn configure(mut self, change: impl Fn(&mut Command) + Send + Sync + 'static) -> Self {
        self.configure = Some(Arc::new(change));
        self
    }

    /// Passes each line of the server's stderr to a function. Default: `tracing` at INFO, with the
    /// name of the command. A line is masked, escaped and cut after 500 bytes. The function must not
    /// block. If it panics, that is logged, and it gets no further line of that process.
    pub fn stderr(mut self, sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.stderr = Some(Arc::new(sink));
        self
    }

    /// The handler of the server's own requests. Each connection gets a clone.
    pub fn handler<N: ClientHandler + Clone>(self, handler: N) -> ChildProcess<N> {
        ChildProcess {
            program: self.program,
            arguments: self.arguments,
            environment: self.environment,
            is_clear: self.is_clear,
            directory: self.directory,
            configure: self.configure,
            stderr: self.stderr,
            settings: self.settings.with_handler(handler),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        if self.is_clear {
            command.env_clear();
        }
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if let Some(change) = &self.configure {
            change(&mut command);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn stderr_sink(&self) -> Sink {
        if let Some(sink) = &self.stderr {
            return Arc::clone(sink);
        }
        let name = Path::new(&self.program).file_name().unwrap_or_default();
        let server = shown_name(&name.to_string_lossy());
        Arc::new(move |shown| tracing::info!(server = %shown_name(&server), line = shown, "stderr"))
    }

    fn not_started(&self, error: io::Error) -> Failure {
        let program = self.program.display();
        let failure = match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidInput => {
                Failure::disabled(format!("cannot run the command `{program}`"))
            }
            _ => Failure::connection(format!("cannot start the command `{program}`")),
        };
        failure.not_sent().because(error)
    }
}

impl<H: ClientHandler + Clone> ChildProcess<H> {
    async fn dial(self) -> Result<Connection, Failure> {
        let settings = self.settings.clone();
        let shared = settings.shared();
        let open = shared.in_flight.open();
        let started = Process::start(self.command(), self.stderr_sink(), open);
        let (process, stdout, stdin) = started.map_err(|error| self.not_started(error))?;
        let process = Arc::new(process);
        let parts = TransportParts {
            process: Some(Arc::clone(&process)),
            ..TransportParts::new(route())
        };
        let transport = Wire::new(stdout, stdin, parts.unread.clone());
        match dial(settings, &shared, parts, ready(Ok(transport))).await {
            Ok(connection) => Ok(connection.into()),
            Err(failure) if failure.class() == Class::Connection => {
                Err(process.explain(failure).await)
            }
            // A silent child may have said on stderr what it waits for.
            Err(failure) if failure.class() == Class::Timeout => Err(process.explain_now(failure)),
            Err(failure) => Err(failure),
        }
    }
}

impl<H: ClientHandler + Clone> Service<()> for ChildProcess<H> {
    dials!(self => self.clone().dial());
}

fn route() -> Route {
    Route::new(Side::Client).with_transport(Transport::Pipe)
}

settings_of!(ChildProcess);

/// Without environment and arguments, which may hold secrets.
impl<H> fmt::Debug for ChildProcess<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildProcess")
            .field("program", &self.program)
            .field("directory", &self.directory)
            .field("start_timeout", &self.settings.start_timeout)
            .field("call_timeout", &self.settings.call_timeout)
            .finish_non_exhaustive()
    }
}
