use std::{error::Error, fmt, process::ExitStatus};

/// What is known of a server's process at the time of a failure.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: Option<ExitStatus>,
    pub(super) stderr_tail: Vec<String>,
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
