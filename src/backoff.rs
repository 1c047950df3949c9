//! How long to wait: exponential waits, and the jitter that spreads them.
//!
//! | Setting | Default | Set by |
//! |---|---|---|
//! | base | 1 s | [`Backoff::new`] |
//! | cap | 30 s | [`Backoff::new`] |
//! | jitter | full | [`Jitter`], on the layer that waits |
//!
//! A [`Backoff`] gives *ceilings*: `min(cap, base · 2^(n-1))` before repeat `n`. With full jitter
//! the wait is drawn evenly from zero to the ceiling, so that callers who failed together do not
//! come back together; it finishes soonest of the usual kinds at the same load. The ceiling is
//! reached before the jitter, so no wait is longer than the cap.
//!
//! Any iterator of [`Duration`]s serves instead; its waits are taken as they come.
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
    /// Waits that double from `base` up to `cap`.
    ///
    /// # Errors
    ///
    /// When `cap` is below `base`, or `base` is zero, which would be no wait at all.
    pub fn new(base: Duration, cap: Duration) -> Result<Self, InvalidBackoff> {
        if base.is_zero() {
            return Err(InvalidBackoff::ZeroBase);
        }
        if cap < base {
            return Err(InvalidBackoff::CapBelowBase { base, cap });
        }
        Ok(Self { base, cap })
    }

    /// The ceilings of the waits, one after the other, without end.
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

/// Where the waits of one call come from.
#[derive(Clone)]
pub(crate) enum Waits {
    /// Ceilings, below which a wait is drawn.
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
    /// The longest wait is shorter than the first.
    #[error(
        "the cap of a backoff ({cap:?}) is below its base ({base:?}): swap them, or raise the cap"
    )]
    CapBelowBase {
        /// The first wait's ceiling.
        base: Duration,
        /// The longest wait's ceiling.
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
    /// Evenly from zero to the ceiling; each draw is its own, whoever draws.
    #[must_use]
    pub fn full() -> Self {
        Self(Draw::Full)
    }

    /// None: every wait is as long as its ceiling, and a server's hint is kept to the
    /// millisecond. For tests; callers that fail together come back together.
    #[must_use]
    pub fn none() -> Self {
        Self(Draw::None)
    }

    /// As the function says, from a ceiling to a wait. More than the ceiling is cut to it.
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

    /// What goes on top of a server's hint: nothing without jitter.
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

/// Takes the policies of the `backoff` crate as waits.
///
/// That crate is unmaintained (RUSTSEC-2025-0012): this is for who has such a policy already.
/// Its waits are taken as they come, jitter and elapsed-time limit included; the policy itself is
/// not reset.
#[cfg(feature = "backoff")]
pub fn from_backoff_crate<B: ::backoff::backoff::Backoff>(
    mut policy: B,
) -> impl Iterator<Item = Duration> {
    std::iter::from_fn(move || policy.next_backoff())
}
