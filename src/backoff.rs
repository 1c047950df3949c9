//! Exponential waits, and the jitter that spreads them.
//!
//! | Setting | Default | Set by |
//! |---|---|---|
//! | base | 1 s | [`Backoff::new`] |
//! | cap | 30 s | [`Backoff::new`] |
//! | jitter | full | [`Jitter`], on the layer that waits |
//!
//! A [`Backoff`] gives *ceilings*: `min(cap, base · 2^(n-1))` before repeat `n`. With full jitter,
//! the wait is drawn evenly from zero to the ceiling. So callers that failed together do not come
//! back together. Of the usual kinds of jitter, it finishes soonest at the same load. No wait is
//! longer than the cap.
//!
//! Any iterator of [`Duration`]s may take its place. Its waits are used without jitter.
//!
//! ```
//! use mcp_resilience::backoff::Backoff;
//! use std::time::Duration;
//!
//! let backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(250))?;
//! let ceilings: Vec<_> = backoff.ceilings().take(4).map(|d| d.as_millis()).collect();
//! assert_eq!(ceilings, [100, 200, 250, 250]);
//! # Ok::<_, mcp_resilience::backoff::InvalidBackoff>(())
//! ```

use std::{fmt, sync::Arc, time::Duration};

/// Exponential waits between a base and a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
}

impl Backoff {
    /// Ceilings that double from `base` up to `cap`.
    ///
    /// # Errors
    ///
    /// If `cap` is below `base`, or if `base` is zero.
    pub fn new(base: Duration, cap: Duration) -> Result<Self, InvalidBackoff> {
        if base.is_zero() {
            return Err(InvalidBackoff::ZeroBase);
        }
        if cap < base {
            return Err(InvalidBackoff::CapBelowBase { base, cap });
        }
        Ok(Self { base, cap })
    }

    /// The ceilings of the waits, without end.
    #[must_use]
    pub fn ceilings(self) -> Ceilings {
        Ceilings {
            next: self.base,
            cap: self.cap,
        }
    }
}

impl Default for Backoff {
    /// From 1 s to 30 s.
    fn default() -> Self {
        Self {
            base: Duration::from_secs(1),
            cap: Duration::from_secs(30),
        }
    }
}

/// The ceilings of a [`Backoff`]'s waits.
#[derive(Clone, Debug)]
pub struct Ceilings {
    next: Duration,
    cap: Duration,
}

impl Iterator for Ceilings {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let ceiling = self.next.min(self.cap);
        self.next = ceiling.saturating_mul(2);
        Some(ceiling)
    }
}

/// The source of the waits of one call.
#[derive(Clone)]
pub(crate) enum Waits {
    /// Ceilings, from which a wait is drawn.
    Ceilings(Backoff),
    /// Waits as they are.
    Own(Arc<dyn Fn() -> OwnWaits + Send + Sync>),
}

pub(crate) type OwnWaits = Box<dyn Iterator<Item = Duration> + Send>;

impl Waits {
    pub(crate) fn own<I>(make: impl Fn() -> I + Send + Sync + 'static) -> Self
    where
        I: Iterator<Item = Duration> + Send + 'static,
    {
        Self::Own(Arc::new(move || Box::new(make())))
    }

    pub(crate) fn start(&self) -> OwnWaits {
        match self {
            Self::Ceilings(backoff) => Box::new(backoff.ceilings()),
            Self::Own(make) => make(),
        }
    }
}

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ceilings(backoff) => backoff.fmt(f),
            Self::Own(_) => f.write_str("Own(..)"),
        }
    }
}

/// Why a [`Backoff`] cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidBackoff {
    /// Waits that start at zero stay at zero.
    #[error("the base of a backoff is zero: give the first wait a length")]
    ZeroBase,
    /// The cap is below the base.
    #[error(
        "the cap of a backoff ({cap:?}) is below its base ({base:?}): swap them, or raise the cap"
    )]
    CapBelowBase {
        /// The base.
        base: Duration,
        /// The cap.
        cap: Duration,
    },
}

/// How a wait is drawn below its ceiling.
#[derive(Clone, Default)]
pub struct Jitter(Draw);

#[derive(Clone, Default)]
enum Draw {
    #[default]
    Full,
    None,
    By(Arc<dyn Fn(Duration) -> Duration + Send + Sync>),
}

impl Jitter {
    /// Evenly from zero to the ceiling.
    #[must_use]
    pub fn full() -> Self {
        Self(Draw::Full)
    }

    /// None: every wait is as long as its ceiling, and a server's hint is kept to the millisecond.
    /// For tests: callers that fail together come back together.
    #[must_use]
    pub fn none() -> Self {
        Self(Draw::None)
    }

    /// By a function from a ceiling to a wait. A wait above the ceiling is cut to it.
    #[must_use]
    pub fn by(draw: impl Fn(Duration) -> Duration + Send + Sync + 'static) -> Self {
        Self(Draw::By(Arc::new(draw)))
    }

    /// A wait of at most `ceiling`.
    #[must_use]
    pub fn draw(&self, ceiling: Duration) -> Duration {
        match &self.0 {
            Draw::Full => evenly_up_to(ceiling),
            Draw::None => ceiling,
            Draw::By(draw) => draw(ceiling).min(ceiling),
        }
    }

    /// The time on top of a server's hint: zero without jitter.
    pub(crate) fn spread(&self, ceiling: Duration) -> Duration {
        match &self.0 {
            Draw::None => Duration::ZERO,
            _ => self.draw(ceiling),
        }
    }
}

impl fmt::Debug for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Draw::Full => "Jitter::full()",
            Draw::None => "Jitter::none()",
            Draw::By(_) => "Jitter::by(..)",
        })
    }
}

fn evenly_up_to(ceiling: Duration) -> Duration {
    // Whole nanoseconds: floats would round long waits, and panic on endless ones.
    let nanos = u64::try_from(ceiling.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(rand::random_range(0..=nanos))
}

/// Uses the policies of the `backoff` crate as waits.
///
/// That crate is unmaintained (RUSTSEC-2025-0012): use this only if you have such a policy already.
/// Its waits are used as they are, with its own jitter and elapsed-time limit. The policy is not
/// reset.
#[cfg(feature = "backoff")]
pub fn from_backoff_crate<B: ::backoff::backoff::Backoff>(
    mut policy: B,
) -> impl Iterator<Item = Duration> {
    std::iter::from_fn(move || policy.next_backoff())
}
