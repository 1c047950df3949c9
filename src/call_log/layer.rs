use super::{ArgumentLogging, CallLog, Sink};
use crate::text::Hook;
use std::{borrow::Cow, fmt, sync::Arc};
use tower::Layer;

/// Wraps services in [`CallLog`].
///
/// See the [module page](super) for the line and its limits.
///
/// ```
/// use mcp_resilience::call_log::{ArgumentLogging, CallLogLayer, JsonLines};
///
/// let layer = CallLogLayer::new(JsonLines::stderr()).arguments(ArgumentLogging::Shape);
/// let none = CallLogLayer::off();
/// # let _ = (layer, none);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct CallLogLayer {
    config: Option<Arc<Config>>,
}

/// Layer configuration, shared by its services.
#[derive(Clone)]
pub(super) struct Config {
    pub(super) sink: Arc<dyn Sink>,
    pub(super) arguments: ArgumentLogging,
    /// The user's own masking.
    pub(super) redact: Option<Arc<Hook>>,
    pub(super) shows_contents: bool,
}

impl CallLogLayer {
    /// Writes to this sink, with the arguments [masked](ArgumentLogging::Masked).
    pub fn new(sink: impl Sink + 'static) -> Self {
        Self {
            config: Some(Arc::new(Config {
                sink: Arc::new(sink),
                arguments: ArgumentLogging::default(),
                redact: None,
                shows_contents: false,
            })),
        }
    }

    /// Writes nothing, at no cost.
    pub fn off() -> Self {
        Self { config: None }
    }

    /// How the arguments are logged.
    pub fn arguments(mut self, arguments: ArgumentLogging) -> Self {
        if let Some(config) = &mut self.config {
            Arc::make_mut(config).arguments = arguments;
        }
        self
    }

    /// Records arguments and result in the span of the call too, masked and cut as in the log:
    /// `gen_ai.tool.call.arguments` and `gen_ai.tool.call.result`. Default: off.
    ///
    /// The arguments are as [`arguments`](Self::arguments) sets them. Of the result, the texts are
    /// recorded.
    pub fn contents_in_spans(mut self) -> Self {
        if let Some(config) = &mut self.config {
            Arc::make_mut(config).shows_contents = true;
        }
        self
    }

    /// Passes every text from outside through a function, after secrets were masked in it and before
    /// it is written. These are keys and strings of the arguments, names and URIs, a server's code,
    /// errors, and the ids of request and session. While the call is polled, the events of all layers
    /// pass the function too. The tool and the caller get the original.
    ///
    /// The function gets at most the first 16 KiB of a text, which is more than is logged. If it
    /// panics, the line has `[masked]`.
    pub fn redact(
        mut self,
        redact: impl for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync + 'static,
    ) -> Self {
        if let Some(config) = &mut self.config {
            Arc::make_mut(config).redact = Some(Arc::new(redact));
        }
        self
    }

    /// The sink, for [`flush`](Sink::flush) at the end of the process. `None` if the log is off.
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
            .field("redacts", &self.redact.is_some())
            .field("shows_contents", &self.shows_contents)
            .finish_non_exhaustive()
    }
}
