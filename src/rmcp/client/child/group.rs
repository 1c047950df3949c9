use std::{io, process::ExitStatus};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// A process and what it started: on Unix, a process group.
#[derive(Debug)]
pub(super) struct Group {
    leader: Child,
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

#[derive(Clone, Copy)]
pub(super) enum Signal {
    Terminate,
    Kill,
}

impl Group {
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        #[cfg(unix)]
        command.process_group(0);
        let leader = command.kill_on_drop(true).spawn()?;
        Ok(Self {
            #[cfg(unix)]
            id: leader
                .id()
                .and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?)),
            leader,
        })
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.leader.id()
    }

    pub(super) fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout, ChildStderr)> {
        let leader = &mut self.leader;
        Some((
            leader.stdin.take()?,
            leader.stdout.take()?,
            leader.stderr.take()?,
        ))
    }

    /// Waits for the leader; the status is there for as often as it is asked for.
    pub(super) async fn ended(&mut self) -> Option<ExitStatus> {
        self.leader.wait().await.ok()
    }

    /// Sends a signal to all, as long as the leader was not waited for: after that its number may be
    /// somebody else's.
    #[cfg(unix)]
    pub(super) fn signal(&self, signal: Signal) {
        if self.id().is_some() {
            self.send(signal);
        }
    }

    /// Ends what the leader left behind. To be called as soon as it was waited for: as long as one of
    /// the group lives its number is nobody else's, and if none does, it is not given away so fast.
    #[cfg(unix)]
    pub(super) fn end_rest(&self) {
        self.send(Signal::Kill);
    }

    #[cfg(not(unix))]
    pub(super) fn end_rest(&self) {}

    #[cfg(unix)]
    fn send(&self, signal: Signal) {
        use rustix::process;
        if let Some(group) = self.id {
            let signal = match signal {
                Signal::Terminate => process::Signal::TERM,
                Signal::Kill => process::Signal::KILL,
            };
            // Whoever is not there any more needs none.
            let _ = process::kill_process_group(group, signal);
        }
    }

    /// There is no polite signal: the closed stdin has to do.
    #[cfg(not(unix))]
    pub(super) fn signal(&mut self, signal: Signal) {
        if let Signal::Kill = signal {
            let _ = self.leader.start_kill();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Where its end was not waited for: the runtime is ending.
        self.signal(Signal::Kill);
    }
}
