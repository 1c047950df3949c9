use super::{
    IdempotencyLayer,
    config::{Config, Scope, Times, Tool},
    store::Store,
};
use crate::call::ToolCall;
use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

/// The default limit of an outcome: 1 MiB.
const LARGEST: usize = 1 << 20;

/// Settings of an [`IdempotencyLayer`] that are not the [defaults](super#defaults).
///
/// ```
/// use mcp_resilience::idempotency::{IdempotencyLayer, MemoryStore};
/// use std::time::Duration;
///
/// let layer = IdempotencyLayer::builder(MemoryStore::new())
///     .keep(Duration::from_secs(7 * 24 * 3600))
///     .require_key("book")
///     .build()?;
/// # let _ = layer;
/// # Ok::<_, mcp_resilience::idempotency::InvalidIdempotency>(())
/// ```
#[must_use = "settings do nothing until they are built"]
pub struct IdempotencyBuilder {
    store: Arc<dyn Store>,
    times: Times,
    largest: usize,
    runs_unprotected: bool,
    tools: HashMap<Box<str>, Tool>,
    scope: Option<Arc<Scope>>,
}

/// A setting of an [`IdempotencyLayer`] that cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidIdempotency {
    /// Every claim would expire at once.
    #[error("`lease` is {0:?}: use at least 100 ms")]
    ShortLease(Duration),
    /// A call would run again while its caller still waits for the first answer.
    #[error(
        "`keep` is {0:?}: keep outcomes for at least 1 s, and for as long as a caller may try again"
    )]
    ShortKeep(Duration),
    /// No call could be claimed.
    #[error("`store_timeout` is zero: give the store some time")]
    ZeroStoreTimeout,
}

impl IdempotencyBuilder {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            times: Times::default(),
            largest: LARGEST,
            runs_unprotected: false,
            tools: HashMap::new(),
            scope: None,
        }
    }

    /// How long an outcome is kept after the end of its run. A later attempt runs the call again.
    /// Default: 24 h.
    pub fn keep(mut self, keep: Duration) -> Self {
        self.times.keep = keep;
        self
    }

    /// How long a claim holds without a renewal. A run renews it three times in that time. After it,
    /// a run that died is found. Default: 30 s.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.times.lease = lease;
        self
    }

    /// How long a call waits for another run of its key. Zero fails it at once. Default: 55 s, since
    /// callers hang up at 60 s.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.times.wait = wait;
        self
    }

    /// How long a call waits for the store before it runs. At the end of a run it is the lease, if
    /// that is longer. Default: 5 s.
    pub fn store_timeout(mut self, store_timeout: Duration) -> Self {
        self.times.store_timeout = store_timeout;
        self
    }

    /// How long a run may go on after its caller is gone. Then it is stopped, and its outcome is
    /// unknown. Default: 1 h.
    pub fn run_limit(mut self, limit: Duration) -> Self {
        self.times.alone = limit;
        self
    }

    /// The largest outcome that is kept, in bytes. A larger one is kept as finished, without its
    /// answer. Default: 1 MiB.
    pub fn max_outcome(mut self, bytes: usize) -> Self {
        self.largest = bytes;
        self
    }

    /// Runs calls even if the store cannot be reached, **without protection**: such a call may run
    /// twice. Each leaves a warning in the log. Default: nothing runs then. While the store is full,
    /// no call with a new key runs in any case.
    pub fn run_unprotected(mut self) -> Self {
        self.runs_unprotected = true;
        self
    }

    /// Refuses calls of this tool without a key.
    pub fn require_key(mut self, tool: impl Into<Box<str>>) -> Self {
        self.tools.entry(tool.into()).or_default().is_required = true;
        self
    }

    /// Takes the key of this tool's calls from an argument, if the request has none elsewhere. Dots
    /// in the name lead into objects.
    ///
    /// If a model fills in the argument, each attempt has another key: let the host do it.
    pub fn argument(mut self, tool: impl Into<Box<str>>, name: impl Into<Box<str>>) -> Self {
        self.tools.entry(tool.into()).or_default().argument = Some(name.into());
        self
    }

    /// Sets who a caller is, in place of its [identity](ToolCall::identity). Callers with equal
    /// results share keys and answers; `None` is one of them.
    pub fn scope(
        mut self,
        identity: impl Fn(&dyn ToolCall) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        self.scope = Some(Arc::new(identity));
        self
    }

    /// Builds the layer.
    ///
    /// # Errors
    ///
    /// If a setting cannot work. The error names it.
    pub fn build(self) -> Result<IdempotencyLayer, InvalidIdempotency> {
        let times = self.times;
        if times.lease < Duration::from_millis(100) {
            return Err(InvalidIdempotency::ShortLease(times.lease));
        }
        if times.keep < Duration::from_secs(1) {
            return Err(InvalidIdempotency::ShortKeep(times.keep));
        }
        if times.store_timeout.is_zero() {
            return Err(InvalidIdempotency::ZeroStoreTimeout);
        }
        Ok(IdempotencyLayer::of(Config {
            store: self.store,
            number: rand::random(),
            times,
            largest: self.largest,
            runs_unprotected: self.runs_unprotected,
            tools: self.tools,
            scope: self.scope,
        }))
    }
}

impl fmt::Debug for IdempotencyBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyBuilder")
            .field("store", &self.store)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}
