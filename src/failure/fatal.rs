use super::{BoxError, Chain, Failure, MESSAGE_LIMIT, escaped, stderr};
use crate::text;
use std::{
    error::Error,
    fmt,
    io::Write,
    process,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

/// How long printing the reason may take.
const LOG_GRACE: Duration = Duration::from_secs(1);

/// Why the process has to end.
///
/// ```
/// use mcp_resilience::fatal::Fatal;
///
/// let refused = std::io::Error::other("permission denied");
/// let fatal = Fatal::new("cannot read /srv/books.json").because(refused);
/// assert_eq!(format!("{fatal:?}"), "cannot read /srv/books.json: permission denied");
/// ```
///
/// For `fn main() -> Result<(), Fatal>`. Rust prints the [`Debug`](fmt::Debug) form of an error, so
/// that form is the reason with its sources on one line. The exit code is 1.
pub struct Fatal {
    message: String,
    // Shared with the failures that carry it.
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Fatal {
    /// A reason for the operator, on one line.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// A copy of the reason.
    pub(crate) fn duplicate(&self) -> Self {
        Self {
            message: self.message.clone(),
            source: self.source.clone(),
        }
    }

    /// Masks secrets in the reason. A source with a secret is replaced by its masked text.
    pub(crate) fn redacted(self) -> Self {
        let source = self.source.map(|source| {
            let is_same = Chain(&*source).is_without_secrets();
            if is_same {
                return source;
            }
            let text: BoxError = Chain(&*source).redacted().into();
            Arc::from(text)
        });
        Self {
            message: text::redacted(&self.message).into_owned(),
            source,
        }
    }

    /// Sets the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// Prints the reason on stderr and ends the process with exit code 1 at once. No destructor runs.
    /// A thread that waits for stdin does not delay the exit. A stderr without a reader delays it by
    /// 1 s at most.
    pub fn exit(self) -> ! {
        let reason = format!("Error: {self:?}\n");
        let (printed, waiting) = mpsc::channel();
        let printing = thread::Builder::new().spawn(move || {
            // If stderr is closed, the reason cannot be shown.
            let _ = stderr().write_all(reason.as_bytes());
            let _ = printed.send(());
        });
        if printing.is_ok() {
            let _ = waiting.recv_timeout(LOG_GRACE);
        }
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
        // Line breaks in messages become spaces.
        let chain = Chain(self).redacted().replace(['\n', '\r'], " ");
        f.write_str(&escaped(&chain, MESSAGE_LIMIT, &[]))
    }
}

/// The reason in a failure.
impl From<Failure> for Fatal {
    fn from(failure: Failure) -> Self {
        let source = failure.shared_source();
        let message = match (failure.message(), &source) {
            (Some(message), _) => message.to_owned(),
            // A failure that was made from a reason adds nothing.
            (None, Some(source)) => source.to_string(),
            (None, None) => failure.to_string(),
        };
        Self { message, source }
    }
}

/// The failure of every later call. The reason is for the operator, so it becomes the source, which
/// no caller reads.
impl From<Fatal> for Failure {
    fn from(fatal: Fatal) -> Self {
        Self::fatal("").because(fatal)
    }
}

/// The same, from a reference.
impl From<&Fatal> for Failure {
    fn from(fatal: &Fatal) -> Self {
        Self::from(fatal.duplicate())
    }
}
