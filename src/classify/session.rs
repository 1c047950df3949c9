/// Whether a server may have forgotten the session to which a call belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    /// It may: but a text of that may be of a session of the tool's own.
    Untold,
    /// There is none: such a text is of something else.
    None,
}
