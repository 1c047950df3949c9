use super::{
    group::{Group, Signal},
    stderr_tail::{Sink, StderrTail},
    stdout::Stdout,
};
use crate::failure::Failure;
use std::{error::Error, fmt, io, pin::pin, process::ExitStatus, time::Duration};
use tokio::{
    process::{ChildStderr, ChildStdin, Command},
    sync::{oneshot, watch},
    time,
};

/// How long a child may take to end, before it gets a stronger signal.
const GRACE: Duration = Duration::from_secs(3);

/// How long the end of a process may take to be known after its stdout is closed, and how long the
/// rest of its stderr may take to be read.
const NEWS: Duration = Duration::from_millis(200);

/// The process of a connection. Dropping this ends it.
#[derive(Debug)]
pub(in crate::rmcp::client) struct Process {
    id: Option<u32>,
    status: watch::Receiver<Option<ExitStatus>>,
    // Once its last words were read, or were waited for long enough.
    is_known: watch::Receiver<bool>,
    stderr_tail: StderrTail,
    // Dropped with the rest, which is the signal.
    _needed: oneshot::Sender<()>,
}

impl Process {
    /// Starts a process. `sink` gets the lines of its stderr, and `open` is dropped when all of its group has ended.
    pub(in crate::rmcp::client) fn start(
        command: Command,
        sink: Sink,
        open: impl Send + 'static,
    ) -> io::Result<(Self, Stdout, ChildStdin)> {
        let mut group = Group::start(command)?;
        let id = group.id();
        let pipes = group.pipes();
        let (stdin, stdout, stderr) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        let (stdout, unread) = Stdout::new(stdout);
        let (needed, unneeded) = oneshot::channel();
        let (ended, status) = watch::channel(None);
        let (known, is_known) = watch::channel(false);
        let stderr_tail = StderrTail::new(sink);
        let words = stderr_tail.clone();
        tokio::spawn(async move {
            supervise(group, stderr, words, (unneeded, unread), (ended, known)).await;
            drop(open);
        });
        let process = Self {
            id,
            status,
            is_known,
            stderr_tail,
            _needed: needed,
        };
        Ok((process, stdout, stdin))
    }

    pub(in crate::rmcp::client) fn id(&self) -> Option<u32> {
        self.id.filter(|_| self.status.borrow().is_none())
    }

    /// Adds what is known about the end of the process, and waits a moment for it.
    pub(in crate::rmcp::client) async fn explain(&self, failure: Failure) -> Failure {
        let mut is_known = self.is_known.clone();
        // Without news, or without a supervisor: what is known then.
        let _ = time::timeout(NEWS, is_known.wait_for(|known| *known)).await;
        self.explain_now(failure)
    }

    /// Adds what is known about the end of the process.
    pub(in crate::rmcp::client) fn explain_now(&self, failure: Failure) -> Failure {
        failure.because(Ended {
            status: *self.status.borrow(),
            stderr_tail: self.stderr_tail.lines(),
        })
    }
}

/// What is known of a server's process at the time of a failure.
#[derive(Debug)]
struct Ended {
    status: Option<ExitStatus>,
    stderr_tail: Vec<String>,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "the server's process ended ({status})")?,
            None => f.write_str("the server's process has not ended")?,
        }
        if self.stderr_tail.is_empty() {
            return f.write_str(" and wrote nothing to stderr");
        }
        f.write_str("; its last words: ")?;
        for (i, line) in self.stderr_tail.iter().enumerate() {
            let between = if i == 0 { "" } else { " | " };
            write!(f, "{between}{line}")?;
        }
        Ok(())
    }
}

impl Error for Ended {}

async fn supervise(
    mut group: Group,
    stderr: ChildStderr,
    stderr_tail: StderrTail,
    (mut unneeded, unread): (oneshot::Receiver<()>, oneshot::Receiver<()>),
    (status, known): (watch::Sender<Option<ExitStatus>>, watch::Sender<bool>),
) {
    // Closed when no process of the group can write to stderr.
    let (reading, mut all_read) = oneshot::channel::<()>();
    let watched = async {
        let ended = tokio::select! {
            ended = group.ended() => ended,
            _ = &mut unneeded => return close(&mut group).await,
        };
        status.send_replace(ended);
        // Its descendants may go on writing.
        let is_alone = time::timeout(NEWS / 2, &mut all_read).await.is_ok();
        known.send_replace(true);
        // Not reported: as long as its stdout is open, a descendant may serve the connection.
        tokio::select! {
            _ = unneeded => {}
            _ = unread => {}
        }
        if !is_alone {
            group.signal(Signal::Terminate);
            let _ = time::timeout(GRACE, &mut all_read).await;
        }
        group.end().await;
    };
    let mut read = pin!(async move {
        stderr_tail.read(stderr).await;
        drop(reading);
    });
    let mut is_read = false;
    let mut watched = pin!(watched);
    loop {
        tokio::select! {
            () = &mut watched => return,
            () = &mut read, if !is_read => is_read = true,
        }
    }
}

/// Its stdin is closed with the connection. If it does not end by that, it gets signals, and so do
/// its descendants in any case.
async fn close(group: &mut Group) {
    let mut is_over = time::timeout(GRACE, group.ended()).await.is_ok();
    if !is_over {
        group.signal(Signal::Terminate);
        is_over = time::timeout(GRACE, group.ended()).await.is_ok();
    }
    if !is_over {
        group.signal(Signal::Kill);
        group.ended().await;
    }
    group.end().await;
}
