use std::borrow::Cow;

/// The escape of the replacement character, without its backslash.
const REPLACEMENT: &str = "ufffd";

/// JSON with replacement characters of the same length in place of halves of surrogate pairs, which
/// no string can hold. Servers that cut a text write them.
pub(super) fn without_halves(text: &str) -> Cow<'_, str> {
    let mut whole = Cow::Borrowed(text);
    let mut at = 0;
    while let Some(step) = text[at..].find('\\') {
        at += step + 1;
        match surrogate(&text[at..]) {
            Some(Half::First) => {
                let second = text[at + REPLACEMENT.len()..].strip_prefix('\\');
                if second.and_then(surrogate) == Some(Half::Second) {
                    at += 2 * REPLACEMENT.len() + 1;
                    continue;
                }
            }
            Some(Half::Second) => {}
            None => {
                // The escaped character may be a backslash.
                at += text[at..].chars().next().map_or(0, char::len_utf8);
                continue;
            }
        }
        whole
            .to_mut()
            .replace_range(at..at + REPLACEMENT.len(), REPLACEMENT);
        at += REPLACEMENT.len();
    }
    whole
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// The half of a pair at the beginning of an escape, after its backslash.
fn surrogate(escape: &str) -> Option<Half> {
    let digits = escape.strip_prefix('u')?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs_are_replaced_and_nothing_else() {
        for (text, expected) in [
            (r"a\ud83db", r"a\ufffdb"),
            (r"a\uDE00b", r"a\ufffdb"),
            (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\ud83d\u0041", r"\ufffd\u0041"),
            (r"\ud83d\n", r"\ufffd\n"),
            (r"\ud83d\ude00", r"\ud83d\ude00"),
            (r"\\ud83d", r"\\ud83d"),
            (r"\\\ud83d", r"\\\ufffd"),
            (r"\ud83", r"\ud83"),
            (r"\u+d83", r"\u+d83"),
            ("\\ué", "\\ué"),
            ("\\é", "\\é"),
            ("\\", "\\"),
            ("", ""),
        ] {
            let whole = without_halves(text);
            assert_eq!(whole, expected, "{text}");
            assert_eq!(matches!(whole, Cow::Owned(_)), text != expected, "{text}");
        }
    }
}
