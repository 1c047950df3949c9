use std::{io, process::ExitStatus};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// A process and its descendants: on Unix, a process group.
///
/// The leader is reaped after the group has ended. While it is a zombie, the kernel gives its id to
/// no other process or group, so that a signal to the group reaches only the group.
#[derive(Debug)]
pub(super) struct Group {
    leader: Child,
    /// `None` after the leader was reaped.
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

    /// Waits for the end of the leader, without reaping it.
    #[cfg(all(unix, not(any(target_os = "netbsd", target_os = "openbsd"))))]
    pub(super) async fn ended(&mut self) -> Option<ExitStatus> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        use tokio::signal::unix::{SignalKind, signal};
        // Before the first look, so that no end is missed.
        let mut ends = signal(SignalKind::child()).ok()?;
        loop {
            let id = self.id?;
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            match waitid(WaitId::Pid(id), options) {
                Ok(Some(status)) => return exit_status(&status),
                Ok(None) => {}
                Err(rustix::io::Errno::INTR) => continue,
                // It was reaped elsewhere, so the id may belong to another process.
                Err(_) => {
                    self.id = None;
                    return None;
                }
            }
            ends.recv().await?;
        }
    }

    /// Waits for the end of the leader.
    #[cfg(not(all(unix, not(any(target_os = "netbsd", target_os = "openbsd")))))]
    pub(super) async fn ended(&mut self) -> Option<ExitStatus> {
        let ended = self.leader.wait().await.ok();
        #[cfg(unix)]
        {
            self.id = None;
        }
        ended
    }

    /// Sends a signal to the whole group.
    #[cfg(unix)]
    pub(super) fn signal(&mut self, signal: Signal) {
        use rustix::process;
        if let Some(group) = self.id {
            let signal = match signal {
                Signal::Terminate => process::Signal::TERM,
                Signal::Kill => process::Signal::KILL,
            };
            // A process that is gone needs none.
            let _ = process::kill_process_group(group, signal);
        }
    }

    /// There is no signal to ask a process to exit. The closed stdin has to be enough.
    #[cfg(not(unix))]
    pub(super) fn signal(&mut self, signal: Signal) {
        if let Signal::Kill = signal {
            let _ = self.leader.start_kill();
        }
    }

    /// Kills the rest of the group, and reaps the leader.
    pub(super) async fn end(&mut self) {
        self.signal(Signal::Kill);
        #[cfg(unix)]
        {
            self.id = None;
        }
        // Reaped elsewhere: it is gone.
        let _ = self.leader.wait().await;
    }
}

#[cfg(all(unix, not(any(target_os = "netbsd", target_os = "openbsd"))))]
fn exit_status(status: &rustix::process::WaitIdStatus) -> Option<ExitStatus> {
    use std::os::unix::process::ExitStatusExt;
    // As `wait` writes it: the exit code, or the signal and whether there is a core file.
    const DUMPED: i32 = 0x80;
    let exited = status.exit_status().map(|code| (code & 0xff) << 8);
    let raw = exited.or_else(|| {
        let flag = if status.dumped() { DUMPED } else { 0 };
        Some(status.terminating_signal()? | flag)
    });
    raw.map(ExitStatus::from_raw)
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its end was not awaited: the runtime is ending.
        self.signal(Signal::Kill);
    }
}
