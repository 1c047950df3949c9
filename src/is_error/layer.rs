use super::{
    IsError,
    detect::{Detectors, Unflagged},
};
use crate::observe::{Observer, Observers};
use std::sync::Arc;
use tower::Layer;

/// Wraps services in [`IsError`].
///
/// See the [module page](super) for what each answer becomes.
///
/// ```
/// use mcp_resilience::{classify::ClassifyLayer, is_error::IsErrorLayer, retry::RetryLayer};
/// use tower::ServiceBuilder;
///
/// let layers = ServiceBuilder::new()
///     .layer(IsErrorLayer::new()) // outside all layers that act on failures
///     .layer(RetryLayer::new())
///     .layer(ClassifyLayer::new());
/// # let _ = layers.service(());
/// ```
#[derive(Clone, Debug, Default)]
pub struct IsErrorLayer {
    settings: Settings,
}

/// Layer configuration, shared by its services and futures. None for the defaults, so that no count
/// is shared by all calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings(Option<Arc<Own>>);

#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) detectors: Detectors,
    pub(super) observers: Observers,
}

static DEFAULT: Own = Own::DEFAULT;

impl Own {
    const DEFAULT: Self = Self {
        detectors: Detectors::DEFAULT,
        observers: Observers::DEFAULT,
    };
}

impl Settings {
    #[inline]
    pub(super) fn get(&self) -> &Own {
        self.0.as_deref().unwrap_or(&DEFAULT)
    }

    fn change(&mut self) -> &mut Own {
        Arc::make_mut(self.0.get_or_insert_with(|| Arc::new(Own::DEFAULT)))
    }
}

impl IsErrorLayer {
    /// Flags failures, and unflagged results that are clearly failures.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves results without a flag alone, unless a [detector](Self::detect) of yours finds a
    /// failure.
    #[must_use]
    pub fn trust_unflagged(mut self) -> Self {
        self.settings.change().detectors.trust_envelopes();
        self
    }

    /// Also flags results that the detector takes for failures. Their content stays.
    #[must_use]
    pub fn detect(
        mut self,
        is_failure: impl Fn(&Unflagged<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.settings.change().detectors.add(is_failure);
        self
    }

    /// What [watches](crate::observe) for results that the layer flags, instead of
    /// [`TracingEvents`](crate::observe::TracingEvents).
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.settings.change().observers = Observers::new(observer);
        self
    }

    /// The same, unless an observer is set.
    pub(crate) fn observed_by(mut self, observers: &Observers) -> Self {
        if observers.is_own() && !self.settings.get().observers.is_own() {
            self.settings.change().observers = observers.clone();
        }
        self
    }
}

impl<S> Layer<S> for IsErrorLayer {
    type Service = IsError<S>;

    fn layer(&self, inner: S) -> Self::Service {
        IsError {
            inner,
            settings: self.settings.clone(),
        }
    }
}
