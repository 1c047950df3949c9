use super::Event;
use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

/// Observes the decisions of the layers.
///
/// See the [module page](super) for how it is called, and for an example. A closure over `&Event<'_>`
/// is an observer, and so is an [`Arc`] of one.
///
/// ```
/// use mcp_resilience::{
///     ResilienceLayer,
///     observe::{Event, Observer, TracingEvents},
/// };
///
/// struct Alarm;
///
/// impl Observer for Alarm {
///     fn on_event(&self, event: &Event<'_>) {
///         if let Event::ConnectionLost { .. } = event {
///             // Count it, or send it into a channel.
///         }
///     }
/// }
///
/// let resilience = ResilienceLayer::builder().observer(TracingEvents.and(Alarm)).build()?;
/// # let _ = resilience;
/// # Ok::<_, mcp_resilience::policy::InvalidPolicy>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an observer",
    label = "this type does not implement `Observer`",
    note = "implement `mcp_resilience::observe::Observer` for it, or write a closure with the type of its argument: `|event: &Event<'_>| ..`"
)]
pub trait Observer: Send + Sync {
    /// Called when a layer has decided something. Must not block.
    fn on_event(&self, event: &Event<'_>);

    /// This observer and then another. A panic in this one does not affect the other.
    fn and<O: Observer>(self, other: O) -> And<Self, O>
    where
        Self: Sized,
    {
        And {
            first: self,
            second: other,
        }
    }
}

impl<F: Fn(&Event<'_>) + Send + Sync> Observer for F {
    fn on_event(&self, event: &Event<'_>) {
        self(event);
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn on_event(&self, event: &Event<'_>) {
        (**self).on_event(event);
    }
}

/// Two observers, made by [`Observer::and`].
#[derive(Clone, Copy, Debug)]
pub struct And<A, B> {
    first: A,
    second: B,
}

impl<A: Observer, B: Observer> Observer for And<A, B> {
    fn on_event(&self, event: &Event<'_>) {
        let first = catch_unwind(AssertUnwindSafe(|| self.first.on_event(event)));
        self.second.on_event(event);
        if let Err(panic) = first {
            resume_unwind(panic);
        }
    }
}
