//! How a server says that it honours keys.

use crate::call::KEY_META;
use ::rmcp::model::{JsonObject, ServerCapabilities};

/// The experimental capability of a server that honours keys.
pub(in crate::rmcp) const CAPABILITY: &str = "io.crates.mcp-resilience/idempotency";

/// Adds the capability: with the name of the key in `_meta`.
pub(super) fn add(capabilities: &mut ServerCapabilities) {
    let settings = JsonObject::from_iter([("key".to_owned(), KEY_META.into())]);
    let experimental = capabilities.experimental.get_or_insert_default();
    experimental.insert(CAPABILITY.to_owned(), settings);
}
