use super::{InvalidPolicy, Policy, Problem, Table};
use crate::call::{Hints, ToolCall};
use std::{fmt, sync::Arc};

/// Which policy is for which calls.
///
/// See the [module page](super) for the order.
///
/// ```
/// use mcp_resilience::policy::{Policies, Policy};
/// use std::time::Duration;
///
/// let policies = Policies::new()
///     .tool("export", Policy::new().attempt_timeout(Duration::from_secs(600)))
///     .hinted(|hints| hints.is_read_only(), Policy::new().max_attempts(5));
/// assert_eq!(policies.tool_names().collect::<Vec<_>>(), ["export"]);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "policies do nothing until a layer gets them"]
pub struct Policies {
    named: Vec<(Box<str>, Policy)>,
    rules: Vec<(Rule, Policy)>,
}

/// Whether a policy is for a call.
#[derive(Clone)]
pub(super) struct Rule(Arc<Fits>);

type Fits = dyn Fn(&dyn ToolCall) -> bool + Send + Sync;

impl Policies {
    /// Creates a set without any policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the policy for the tool of this name. It replaces an earlier one for the same name.
    pub fn tool(mut self, name: impl Into<Box<str>>, policy: Policy) -> Self {
        let name = name.into();
        self.named.retain(|(other, _)| *other != name);
        self.named.push((name, policy));
        self
    }

    /// Adds a policy for calls whose [hints](ToolCall::hints) satisfy the function.
    pub fn hinted(
        self,
        fits: impl Fn(Hints) -> bool + Send + Sync + 'static,
        policy: Policy,
    ) -> Self {
        self.when(move |call| fits(call.hints()), policy)
    }

    /// Adds a policy for calls that satisfy the function.
    ///
    /// The function runs for each call without a policy by name, once in each layer that reads
    /// policies. In a retry layer it runs again after each failed attempt; if it then selects another
    /// policy, the stricter of both decides about a repeat. A panic in it passes to the caller.
    pub fn when(
        mut self,
        fits: impl Fn(&dyn ToolCall) -> bool + Send + Sync + 'static,
        policy: Policy,
    ) -> Self {
        self.rules.push((Rule(Arc::new(fits)), policy));
        self
    }

    /// The names that have a policy, to compare them with those of a server.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| &**name)
    }

    /// Whether there is no policy.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.rules.is_empty()
    }

    /// Converts each policy to what a layer needs. `layer` is for the calls without one.
    pub(crate) fn table<T>(
        &self,
        layer: T,
        make: impl Fn(&Policy) -> Result<T, Problem>,
    ) -> Result<Table<T>, InvalidPolicy> {
        let settings = |policy, rule: String| {
            make(policy).map_err(|problem| InvalidPolicy::of(&rule, problem))
        };
        let named = self.named.iter().map(|(name, policy)| {
            let settings = settings(policy, format!("tool `{name}`"))?;
            Ok((name.clone(), settings))
        });
        let rules = (1..).zip(&self.rules).map(|(number, (rule, policy))| {
            let settings = settings(policy, format!("rule {number}"))?;
            Ok((rule.clone(), settings))
        });
        Ok(Table::new(
            named.collect::<Result<_, InvalidPolicy>>()?,
            rules.collect::<Result<_, InvalidPolicy>>()?,
            layer,
        ))
    }
}

impl Rule {
    #[inline]
    pub(super) fn fits(&self, call: &dyn ToolCall) -> bool {
        (self.0)(call)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rule(..)")
    }
}
