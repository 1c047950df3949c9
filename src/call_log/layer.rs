use super::{ArgumentLogging, CallLog, Sink};
use crate::failure::{Code, SCAN_LIMIT, first};
use std::{
    borrow::Cow,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use tower::Layer;

/// Wraps services in [`CallLog`].
///
/// See the [module page](super) for the line, its limits and an example.
#[derive(Clone, Debug)]
pub struct CallLogLayer {
    config: Option<Arc<Config>>,
}

/// What a layer was told, shared by all its services.
#[derive(Clone)]
pub(super) struct Config {
    pub(super) sink: Arc<dyn Sink>,
    pub(super) arguments: ArgumentLogging,
    pub(super) redact: Redact,
}

impl CallLogLayer {
    /// Writes to this sink, with the arguments [masked](ArgumentLogging::Masked).
    #[must_use]
    pub fn new(sink: impl Sink + 'static) -> Self {
        Self {
            config: Some(Arc::new(Config {
                sink: Arc::new(sink),
                arguments: ArgumentLogging::default(),
                redact: Redact(None),
            })),
        }
    }

    /// Writes nothing and costs nothing.
    #[must_use]
    pub fn off() -> Self {
        Self { config: None }
    }

    /// How the arguments are logged.
    #[must_use]
    pub fn arguments(mut self, arguments: ArgumentLogging) -> Self {
        if let Some(config) = &mut self.config {
            Arc::make_mut(config).arguments = arguments;
        }
        self
    }

    /// Passes what came from outside through a function before it is logged: every string in the
    /// arguments (not their keys), the tool's name, the URI or the prompt's name, a server's code,
    /// and the text of an error. The tool and the caller get the original.
    ///
    /// Of a longer text the function gets the first 16 KiB, which is more than is logged. Where it
    /// panics, the line says `[masked]`.
    #[must_use]
    pub fn redact(
        mut self,
        redact: impl for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync + 'static,
    ) -> Self {
        if let Some(config) = &mut self.config {
            Arc::make_mut(config).redact = Redact(Some(Arc::new(redact)));
        }
        self
    }

    /// The sink, for [`flush`](Sink::flush) at the end of the process; none if the log is off.
    #[must_use]
    pub fn sink(&self) -> Option<Arc<dyn Sink>> {
        self.config.as_ref().map(|config| Arc::clone(&config.sink))
    }
}

impl<S> Layer<S> for CallLogLayer {
    type Service = CallLog<S>;

    fn layer(&self, inner: S) -> Self::Service {
        CallLog {
            inner,
            config: self.config.clone(),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("arguments", &self.arguments)
            .field("redacts", &self.redact.0.is_some())
            .finish_non_exhaustive()
    }
}

/// Stands for what is not to be read.
pub(super) const MASK: &str = "[masked]";

/// The user's own masking.
#[derive(Clone)]
pub(super) struct Redact(Option<Arc<RedactText>>);

type RedactText = dyn for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync;

impl Redact {
    pub(super) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(redact) = &self.0 else {
            return Cow::Borrowed(text);
        };
        // Far more than is logged, so that no secret is cut before it is seen.
        let text = first(text, SCAN_LIMIT);
        catch_unwind(AssertUnwindSafe(|| redact(text))).unwrap_or(Cow::Borrowed(MASK))
    }

    pub(super) fn code(&self, code: &Code) -> Code {
        match code {
            Code::Text(text) => self.text(text).into_owned().into(),
            Code::Number(number) => Code::Number(*number),
        }
    }
}
