//! The capability of a server that honours idempotency keys, as rmcp has it.

#[cfg(feature = "rmcp")]
use crate::idempotency::IdempotencyHandle;
#[cfg(feature = "rmcp-client")]
use crate::idempotency::capability::{IDENTITY, NAME, STORE};
use ::rmcp::model::ServerCapabilities;

/// Adds the capability of a layer.
#[cfg(feature = "rmcp")]
pub(super) fn add(
    capabilities: &mut ServerCapabilities,
    keyed: &IdempotencyHandle,
    is_identity_stable: bool,
) {
    let (name, content) = keyed.capability(is_identity_stable);
    let experimental = capabilities.experimental.get_or_insert_default();
    experimental.insert(name.to_owned(), content);
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
