use crate::failure::{BoxError, Failure};
use std::{error::Error, fmt, io::Write, process};

/// Why the process has to end.
///
/// For `fn main() -> Result<(), Fatal>`: Rust prints an error's [`Debug`](fmt::Debug), so that is
/// the reason here, on one line with its sources; the exit code is 1.
pub struct Fatal {
    message: String,
    source: Option<BoxError>,
}

impl Fatal {
    /// A reason, in one line for the operator.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// What caused it.
    #[must_use]
    pub fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Prints the reason on stderr and ends the process with exit code 1, at once: no destructor
    /// runs, and nothing that waits for stdin can hold it up.
    pub fn exit(self) -> ! {
        // Nobody is left to tell that stderr is gone.
        let _ = writeln!(std::io::stderr().lock(), "Error: {self:?}");
        process::exit(1)
    }
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Fatal {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.source.as_deref()?;
        Some(source as &(dyn Error + 'static))
    }
}

impl fmt::Debug for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, whatever is in the messages.
        let chain = crate::failure::Chain(self).to_string();
        for c in chain.chars() {
            match c {
                '\n' | '\r' => f.write_str(" ")?,
                c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => fmt::Write::write_char(f, c)?,
            }
        }
        Ok(())
    }
}

impl From<Failure> for Fatal {
    fn from(failure: Failure) -> Self {
        let fatal = Self::new(failure.to_string());
        match failure.shared_source() {
            Some(source) => fatal.because(source),
            None => fatal,
        }
    }
}

/// A failure of every call: what one gets that is made after the end.
impl From<&Fatal> for Failure {
    fn from(fatal: &Fatal) -> Self {
        Self::fatal(fatal.message.clone())
    }
}
