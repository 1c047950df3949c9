use super::Ledger;
use std::{
    env,
    io::{self, BufRead},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};
use tokio::time::sleep;

/// The server over HTTP. It is started again when it ends.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) address: String,
    pub(crate) ledger: Ledger,
    pub(crate) process: Child,
}

impl Server {
    pub(crate) fn start(ledger: &Ledger) -> super::Fallible<Self> {
        let mut process = Self::spawn(ledger, "127.0.0.1:0", Stdio::piped())?;
        let stderr = process.stderr.take().ok_or("no stderr")?;
        let mut url = String::new();
        io::BufReader::new(stderr).read_line(&mut url)?;
        let url = url.trim_end().to_owned();
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
        Ok(Self {
            address: address.to_owned(),
            url,
            ledger: ledger.clone(),
            process,
        })
    }

    pub(crate) fn spawn(ledger: &Ledger, address: &str, stderr: Stdio) -> io::Result<Child> {
        Command::new(program())
            .arg("--ledger")
            .arg(&*ledger.path)
            .args(["--life", "3600", "--resource", "--http", address])
            .stdin(Stdio::null())
            .stderr(stderr)
            .spawn()
    }

    pub(crate) async fn keep(mut self) -> io::Result<()> {
        loop {
            if self.process.try_wait()?.is_some() {
                self.process = Self::spawn(&self.ledger, &self.address, Stdio::null())?;
            }
            sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The example `hostile`, built beside this one.
pub(crate) fn program() -> PathBuf {
    let own = env::current_exe().unwrap_or_default();
    own.with_file_name(format!("hostile{}", env::consts::EXE_SUFFIX))
}
