use crate::text::MASK;
use std::borrow::Cow;

/// Follows a PEM block over the lines of a stream. One mask replaces all its lines.
#[derive(Debug, Default)]
pub(super) struct KeyLines {
    is_inside: bool,
}

impl KeyLines {
    /// The line without its part of a block. `None` if nothing is left.
    pub(super) fn masked<'l>(&mut self, line: &'l str) -> Option<Cow<'l, str>> {
        let mut line = Cow::Borrowed(line);
        if self.is_inside {
            if let Some(end) = line.find("-----END ") {
                line = format!("{MASK}{}", &line[end..]).into();
            } else if is_of_block(&line) {
                return None;
            }
            self.is_inside = false;
        }
        let begin = line.rfind("-----BEGIN ");
        let rest = begin.map(|begin| &line[begin..]);
        self.is_inside = rest.is_some_and(|rest| !rest.contains("-----END ") && !is_public(rest));
        Some(line)
    }
}

fn is_public(block: &str) -> bool {
    let label = block.trim_start_matches('-').split("-----").next();
    label.is_some_and(|label| label.contains("PUBLIC"))
}

/// Whether a line, after what a logger may write before it, is Base64 or a header of a block.
fn is_of_block(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let Some(last) = words.next_back() else {
        return true;
    };
    let is_base64 = last
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    let is_long = last.len() >= 16 || last.ends_with('=') || words.next().is_none();
    (is_base64 && is_long) || line.contains("Proc-Type:") || line.contains("DEK-Info:")
}
