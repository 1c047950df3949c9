/// The id of an HTTP session, for the log.
///
/// tower-mcp does not pass it to a router. To have it in the log, an HTTP server puts it into the
/// extensions of the HTTP request, and lets the transport
/// [bridge](https://docs.rs/tower-mcp/0.25/tower_mcp/struct.HttpTransport.html#method.bridge_extension)
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionId(String);

impl SessionId {
    /// The value of the header `Mcp-Session-Id`.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
