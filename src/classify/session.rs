/// Whether a server may have lost the session of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    /// It may. But a text about it may mean a session of the tool's own.
    Untold,
    /// There is no session, so such a text means something else.
    None,
}
