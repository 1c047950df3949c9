//! Settings for single tools: limits of time, attempts, waits, whether a repeat is safe, and the
//! budget.
//!
//! A [`Policy`] holds the settings that differ. Settings that it does not have come from the layer.
//! [`Policies`] say which calls a policy is for. [`timeout`](crate::timeout) and
//! [`retry`](crate::retry) read both; the [preset](crate::preset) takes them once and gives them to
//! both.
//!
//! # Which policy applies
//!
//! At most one applies to a call:
//!
//! 1. that of the [tool's name](Policies::tool);
//! 2. else the first that fits, in the given order: by [hints](Policies::hinted), or by a [function
//!    of the call](Policies::when);
//! 3. else none: the layer's settings apply.
//!
//! # Settings that contradict each other
//!
//! The layer is not built. The error names the tool, the setting and its value. A setting of the
//! layer adapts to one of the policy: a policy with a deadline of 5 s needs no shorter attempt
//! timeout than the layer's.
//!
//! # Example
//!
//! ```
//! use mcp_resilience::{
//!     ResilienceLayer,
//!     call::Hints,
//!     policy::{Policies, Policy},
//! };
//! use std::time::Duration;
//!
//! let policies = Policies::new()
//!     .tool("export", Policy::new().attempt_timeout(Duration::from_secs(40 * 60)))
//!     .tool("pay", Policy::new().max_attempts(1))
//!     .hinted(Hints::is_read_only, Policy::new().max_attempts(5))
//!     .when(|call| call.name().starts_with("quick_"), Policy::new().deadline(Duration::from_secs(5)));
//! let resilience = ResilienceLayer::builder().policies(policies).build()?;
//! # let _ = resilience;
//! # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
//! ```

mod invalid;
mod limits;
mod policies;
#[expect(clippy::module_inception, reason = "one file, one type")]
mod policy;
mod table;

pub use self::{
    invalid::{InvalidPolicy, Problem},
    policies::Policies,
    policy::Policy,
};
pub(crate) use self::{
    limits::Limits,
    policy::Budget,
    table::{Place, Table},
};
