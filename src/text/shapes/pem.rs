use crate::text::first;
use std::ops::Range;

/// The beginning of a block, the end of its label, and the beginning of its last line: PEM, and the
/// form of SSH2.
const FORMS: [(&str, &str, &str); 2] = [
    ("-----BEGIN ", "-----", "-----END "),
    ("---- BEGIN SSH2 ", " ----", "---- END "),
];

/// The content of a block, unless it is a public key. Reaches to the end of the text if the block
/// is cut.
pub(super) fn block(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let (begin, dashes, end) = FORMS
        .into_iter()
        .find(|(begin, ..)| rest.starts_with(begin))?;
    let label = &rest[begin.len()..];
    let label = &label[..first(label, 80).find(dashes)?];
    if label.contains("PUBLIC") {
        return None;
    }
    let start = at + begin.len() + label.len() + dashes.len();
    let end = text[start..]
        .find(end)
        .map_or(text.len(), |length| start + length);
    Some(start..end)
}
