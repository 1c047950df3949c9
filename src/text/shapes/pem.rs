use crate::text::first;
use std::ops::Range;

const BEGIN: &str = "-----BEGIN ";

/// What stands between the lines of a PEM block, unless it is public; to the end of the text if
/// the block is cut.
pub(super) fn block(text: &str, at: usize) -> Option<Range<usize>> {
    let label = text.get(at..)?.strip_prefix(BEGIN)?;
    let label = &label[..first(label, 80).find("-----")?];
    if label.contains("PUBLIC") {
        return None;
    }
    let start = at + BEGIN.len() + label.len() + "-----".len();
    let end = text[start..]
        .find("-----END ")
        .map_or(text.len(), |length| start + length);
    Some(start..end)
}
