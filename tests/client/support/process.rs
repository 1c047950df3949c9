use std::process::{Child, Command, Stdio};
use tokio::io::{AsyncBufReadExt, BufReader};

/// A process, killed and waited for when this is dropped.
pub(crate) struct Process(Child);

impl Process {
    /// Starts it, and gives the first line of its stderr that is a URL.
    pub(crate) async fn start(command: &mut Command) -> (Self, String) {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = tokio::process::ChildStderr::from_std(child.stderr.take().unwrap()).unwrap();
        let process = Self(child);
        let mut lines = BufReader::new(stderr).lines();
        let url = super::within("the server's url", async {
            loop {
                let line = lines.next_line().await.unwrap();
                let line = line.expect("the server ended before it was there");
                if line.starts_with("http://") {
                    return line;
                }
            }
        })
        .await;
        // The rest is not awaited, and must not block.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        (process, url)
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether such a process still runs. A zombie does not count.
pub(crate) fn is_running(id: u32) -> bool {
    let shown = Command::new("ps")
        .args(["-o", "stat=", "-p", &id.to_string()])
        .output();
    let state = String::from_utf8(shown.unwrap().stdout).unwrap();
    let state = state.trim();
    !state.is_empty() && !state.starts_with('Z')
}

/// Whether there is such a process; a zombie is one.
pub(crate) fn is_alive(id: u32) -> bool {
    let status = Command::new("kill")
        .args(["-0", &id.to_string()])
        .stderr(Stdio::null())
        .status();
    status.unwrap().success()
}
