//! How a server says that it honours idempotency keys.

use ::rmcp::model::ServerCapabilities;

/// The experimental capability.
const NAME: &str = "io.crates.mcp-resilience/idempotency";

/// Adds the capability: with the name of the key in `_meta`.
#[cfg(feature = "rmcp")]
pub(super) fn add(capabilities: &mut ServerCapabilities) {
    let key = ("key".to_owned(), crate::call::KEY_META.into());
    let experimental = capabilities.experimental.get_or_insert_default();
    experimental.insert(NAME.to_owned(), [key].into_iter().collect());
}

/// Whether a server says that it honours keys.
#[cfg(feature = "rmcp-client")]
pub(super) fn is_in(capabilities: &ServerCapabilities) -> bool {
    let experimental = capabilities.experimental.as_ref();
    experimental.is_some_and(|experimental| experimental.contains_key(NAME))
}
