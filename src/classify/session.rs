/// Whether a connection has a session that its server may have forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    /// It has one: "unknown session" refuses the call.
    #[cfg_attr(
        not(feature = "rmcp-client-http"),
        expect(dead_code, reason = "only the client over HTTP has one")
    )]
    Held,
    /// Nobody knows: such a text may be of a session of the tool's own.
    Untold,
    /// There is none: such a text is of something else.
    #[cfg_attr(
        not(any(feature = "rmcp-client", feature = "rmcp")),
        allow(dead_code, reason = "only adapters know that")
    )]
    None,
}
