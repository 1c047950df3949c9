//! Dates that are numbers only.

pub(super) fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn is_iso(word: &str) -> bool {
    iso_pieces(word).is_some()
}

/// Year, month and day, with a year of any length from four if they are separate. JavaScript writes a
/// sign before a longer one.
pub(super) fn iso_pieces(word: &str) -> Option<(&str, &str, &str)> {
    if word.len() == 8 && is_digits(word) {
        return Some((&word[..4], &word[4..6], &word[6..]));
    }
    let unsigned = word.strip_prefix('+').unwrap_or(word);
    let mut pieces = unsigned.split(['-', '/']);
    let (year, month, day) = (pieces.next()?, pieces.next()?, pieces.next()?);
    let is_short = |piece: &str| matches!(piece.len(), 1 | 2) && is_digits(piece);
    let is_date = year.len() >= 4 && is_digits(year) && is_short(month) && is_short(day);
    (is_date && pieces.next().is_none()).then_some((year, month, day))
}

/// `11/30/2099`, `30.11.2099`: three numbers, the year last.
pub(super) fn numbers(word: &str) -> Option<(u32, u32, &str)> {
    let mut pieces = word.split(['-', '/', '.']);
    let (one, other, year) = (pieces.next()?, pieces.next()?, pieces.next()?);
    let is_date = year.len() == 4 && is_digits(year) && one.len() <= 2 && other.len() <= 2;
    let is_whole = is_date && pieces.next().is_none();
    is_whole.then(|| Some((one.parse().ok()?, other.parse().ok()?, year)))?
}
