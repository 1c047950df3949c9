use super::{
    Lines,
    program::{Sdk, program},
};
use std::{
    process::{Child as Process, Command, ExitStatus, Stdio},
    time::Duration,
};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

/// How long a test waits for anything before it fails: far longer than anything takes, and not
/// for ever.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The output of `future`. Fails the test if it takes too long.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let Ok(value) = tokio::time::timeout(LIMIT, future).await else {
        panic!("waited {LIMIT:?} for {what}");
    };
    value
}

/// The Bookshop in another process. It is killed and waited for when this is dropped.
pub(crate) struct Child {
    process: Process,
    pub(crate) stderr: Lines,
}

impl Child {
    /// Starts it, and gives its stdin and stdout.
    pub(crate) fn start(
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> (Self, ChildStdin, ChildStdout) {
        Self::start_example(Sdk::here().bookshop(), arguments, variables)
    }

    /// Starts another of the examples, and gives its stdin and stdout.
    pub(crate) fn start_example(
        name: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> (Self, ChildStdin, ChildStdout) {
        let (mut child, stdin, stdout) = Self::spawn(name, arguments, variables, Stdio::piped());
        child.stderr = Lines::read(child.take_stderr());
        (child, stdin, stdout)
    }

    /// The same, with a stderr that is not read.
    pub(crate) fn start_unread(
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> (Self, ChildStdin, ChildStdout, ChildStderr) {
        let name = Sdk::here().bookshop();
        let (mut child, stdin, stdout) = Self::spawn(name, arguments, variables, Stdio::piped());
        let stderr = child.take_stderr();
        (child, stdin, stdout, stderr)
    }

    /// Starts one of the examples with a stderr that is given.
    pub(crate) fn spawn(
        name: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
        stderr: Stdio,
    ) -> (Self, ChildStdin, ChildStdout) {
        let mut process = Command::new(program(name))
            .args(arguments)
            // Backtraces of intended panics would only cost time.
            .env("RUST_BACKTRACE", "0")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let stdin = ChildStdin::from_std(process.stdin.take().unwrap()).unwrap();
        let stdout = ChildStdout::from_std(process.stdout.take().unwrap()).unwrap();
        let child = Self {
            process,
            stderr: Lines::read(tokio::io::empty()),
        };
        (child, stdin, stdout)
    }

    fn take_stderr(&mut self) -> ChildStderr {
        ChildStderr::from_std(self.process.stderr.take().unwrap()).unwrap()
    }

    /// Waits for its own end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let polled = async {
            loop {
                if let Some(status) = self.process.try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        within("the end of the process", polled).await
    }

    /// Sends it a signal: `INT`, as a terminal does with Ctrl-C, or `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let signal = format!("-{name}");
        let id = self.process.id().to_string();
        let status = Command::new("kill").args([&signal, &id]).status().unwrap();
        assert!(status.success(), "kill {signal} {id}");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself: then both have nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
