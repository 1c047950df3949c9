//! Reading lines of the peer, shared by client and server.

mod lines;
mod long;
pub(super) mod raw;
mod scan;
mod told;
mod unreadable;
mod whole;

#[cfg(feature = "rmcp")]
pub(super) use self::scan::Head;
#[cfg(feature = "rmcp-client")]
pub(super) use self::unreadable::REASON;
pub(super) use self::{
    lines::{Line, Lines},
    long::Long,
    scan::Scan,
    told::{Told, skipped},
    unreadable::Unreadable,
    whole::is_whole,
};

/// The longest line, body or event that is read, as in rmcp.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;
