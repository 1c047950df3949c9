//! The capability of a server that honours idempotency keys.

#[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
use serde_json::{Map, Value};

/// The experimental capability.
pub(crate) const NAME: &str = "io.crates.mcp-resilience/idempotency";

/// The name of the store, if its records are lost when the process ends.
pub(crate) const STORE: &str = "store";

/// `stable` if a caller is identified by something else than the token that it sends.
pub(crate) const IDENTITY: &str = "identity";

/// The name and content of the capability: the name of the key in `_meta`, the store, and the
/// identity.
#[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
pub(super) fn of(store: Option<String>, is_stable: bool) -> (&'static str, Map<String, Value>) {
    let key = ("key".to_owned(), crate::call::KEY_META.into());
    let store = store.map(|store| (STORE.to_owned(), store.into()));
    let identity = is_stable.then(|| (IDENTITY.to_owned(), "stable".into()));
    let all = [key].into_iter().chain(store).chain(identity);
    (NAME, all.collect())
}
