/// Whether a connection has a session that its server may have forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    /// It has one: "unknown session" refuses the call.
    #[cfg_attr(
        not(feature = "rmcp-client"),
        allow(dead_code, reason = "only a client has one")
    )]
    Held,
    /// Nobody knows: such a text may be of a session of the tool's own.
    Untold,
    /// There is none: such a text is of something else.
    None,
}
