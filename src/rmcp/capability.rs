//! The capability of a server that honours idempotency keys.

use ::rmcp::model::ServerCapabilities;

/// The experimental capability.
const NAME: &str = "io.crates.mcp-resilience/idempotency";

/// Names the store, if its records end with the process of the server.
const STORE: &str = "store";

/// Is `stable` if a caller is not identified by the token that it sends.
const IDENTITY: &str = "identity";

/// Adds the capability: with the name of the key in `_meta`.
#[cfg(feature = "rmcp")]
pub(super) fn add(capabilities: &mut ServerCapabilities, store: Option<String>, is_stable: bool) {
    let key = ("key".to_owned(), crate::call::KEY_META.into());
    let store = store.map(|store| (STORE.to_owned(), store.into()));
    let experimental = capabilities.experimental.get_or_insert_default();
    let identity = is_stable.then(|| (IDENTITY.to_owned(), "stable".into()));
    let all = [key].into_iter().chain(store).chain(identity);
    experimental.insert(NAME.to_owned(), all.collect());
}

/// The idempotency capability of a server.
#[cfg(feature = "rmcp-client")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Honoured {
    /// A store that no other server has.
    store: Option<String>,
    /// Whether a caller with a renewed token is the same caller.
    pub(super) is_stable: bool,
}

/// Whether a server honours keys. If two servers have the same capability, the second knows the calls
/// of the first.
#[cfg(feature = "rmcp-client")]
pub(super) fn of(capabilities: &ServerCapabilities) -> Option<Honoured> {
    let said = capabilities.experimental.as_ref()?.get(NAME)?;
    Some(Honoured {
        store: said.get(STORE).map(ToString::to_string),
        is_stable: said
            .get(IDENTITY)
            .is_some_and(|identity| identity == "stable"),
    })
}
