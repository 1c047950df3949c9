//! The secrets and the hook of the call that is being polled.

use super::{
    MASK, Secrets,
    running::{self, Running},
};
use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// The user's own masking.
pub(crate) type Hook = dyn for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Redaction>>> = const { RefCell::new(None) };
    /// Whether a call is being polled, even one without secrets.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The values that one call masks, and its user's hook.
pub(crate) struct Redaction {
    own: Arc<Own>,
    /// The redaction of the outer call: a tool may call tools.
    outer: Option<Arc<Redaction>>,
    _running: Running,
}

/// The secrets of one call, without the outer calls.
pub(super) struct Own {
    pub(super) secrets: Secrets,
    pub(super) hook: Option<Arc<Hook>>,
}

impl Redaction {
    /// `None` if there is nothing to mask and no hook. Keeps the redaction of the current call as
    /// the outer one.
    pub(crate) fn new(secrets: Secrets, hook: Option<Arc<Hook>>) -> Option<Arc<Self>> {
        if secrets.is_empty() && hook.is_none() {
            return None;
        }
        let secrets = secrets.sorted();
        let own = Arc::new(Own { secrets, hook });
        Some(Arc::new(Self {
            _running: Running::new(&own),
            own,
            outer: CURRENT.with_borrow(Clone::clone),
        }))
    }

    fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = self.values(text);
        match text {
            Cow::Borrowed(text) => self.hooked(text),
            Cow::Owned(text) => Cow::Owned(self.hooked(&text).into_owned()),
        }
    }

    fn values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = match &self.outer {
            Some(outer) => outer.values(text),
            None => Cow::Borrowed(text),
        };
        if self.own.secrets.is_empty() {
            return text;
        }
        match text {
            Cow::Borrowed(text) => self.own.secrets.mask(text),
            Cow::Owned(text) => Cow::Owned(self.own.secrets.mask(&text).into_owned()),
        }
    }

    /// Applies the hook of the inner call, or else that of the outer one.
    fn hooked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match (&self.own.hook, &self.outer) {
            (Some(hook), _) => hooked(&**hook, text),
            (None, Some(outer)) => outer.hooked(text),
            (None, None) => Cow::Borrowed(text),
        }
    }

    fn has_number(&self, digits: &str) -> bool {
        self.own.secrets.has_number(digits)
            || self
                .outer
                .as_ref()
                .is_some_and(|outer| outer.has_number(digits))
    }
}

/// Applies the hook. If it panics, returns the mask.
pub(super) fn hooked<'a>(hook: &Hook, text: &'a str) -> Cow<'a, str> {
    let hooked = catch_unwind(AssertUnwindSafe(|| hook(text)));
    hooked.unwrap_or(Cow::Borrowed(MASK))
}

/// Runs a function with this redaction as the current one. `None` keeps the current one.
#[inline]
pub(crate) fn within<T>(redaction: Option<&Arc<Redaction>>, run: impl FnOnce() -> T) -> T {
    let _outside_again = Leaves(IS_INSIDE.replace(true));
    let Some(redaction) = redaction else {
        return run();
    };
    let _restored_at_end = Restores(CURRENT.replace(Some(Arc::clone(redaction))));
    run()
}

struct Leaves(bool);

impl Drop for Leaves {
    fn drop(&mut self) {
        IS_INSIDE.set(self.0);
    }
}

struct Restores(Option<Arc<Redaction>>);

impl Drop for Restores {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Masks the values of the current call, then applies its hook. Outside a call, does so for all
/// calls.
pub(super) fn redacted(text: Cow<'_, str>) -> Cow<'_, str> {
    let Some(current) = CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
    else {
        return if IS_INSIDE.get() {
            text
        } else {
            running::redacted(text)
        };
    };
    match text {
        Cow::Borrowed(text) => current.text(text),
        Cow::Owned(text) => Cow::Owned(current.text(&text).into_owned()),
    }
}

/// Whether [`redacted`] changes nothing: the current call has no values to mask and no hook.
pub(crate) fn passes_as_it_is() -> bool {
    IS_INSIDE.get() && CURRENT.with_borrow(Option::is_none)
}

/// Whether a number is a masked value of the current call.
pub(crate) fn is_secret_number(digits: &str) -> bool {
    CURRENT.with_borrow(|current| {
        current
            .as_ref()
            .is_some_and(|current| current.has_number(digits))
    })
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redaction")
            .field("secrets", &self.own.secrets)
            .finish_non_exhaustive()
    }
}
