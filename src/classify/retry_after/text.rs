//! A wait in a text: a number, a length of time, a date, or a list of them.

use super::{date, span};
use std::time::Duration;

/// A number that is too big in every unit.
const TOO_BIG: &str = "9e999";

/// No form is longer than this. A longer text is prose, or a number that is too big.
const LONGEST: usize = 64;

/// How many items of a list are read.
pub(super) const LONGEST_LIST: usize = 32;

/// How many items of a list one date or one length of time may take up: `Mon, Nov 30, 2099, 10:50 PM`.
const WIDEST: usize = 4;

/// Texts for a wait without end.
const NEVER: &[&str] = &["never", "forever", "infinity", "inf", "+infinity", "+inf"];

/// Reads a text. `bare` reads a number without a unit.
pub(super) fn read(text: &str, bare: impl Fn(&str) -> Option<Duration>) -> Option<Duration> {
    one(text, &bare).or_else(|| longest_of(text, &bare))
}

/// The longest wait of a list.
///
/// A date and a length of time may have commas too, so that the longest run of items that reads as
/// one counts as one. A clock that cannot be read makes the item before it doubtful: that may be the
/// beginning of the same date.
fn longest_of(text: &str, bare: &dyn Fn(&str) -> Option<Duration>) -> Option<Duration> {
    let commas = text.match_indices(',').map(|(at, _)| at);
    let ends: Vec<usize> = commas.chain([text.len()]).take(LONGEST_LIST).collect();
    let begin = |item: usize| item.checked_sub(1).map_or(0, |before| ends[before] + 1);
    let run = |item: usize, items: usize| &text[begin(item)..ends[item + items - 1]];
    let (mut longest, mut before) = (None, None);
    let mut item = 0;
    while item < ends.len() {
        let mut widths = (1..=WIDEST.min(ends.len() - item)).rev();
        if let Some((width, wait)) =
            widths.find_map(|width| Some((width, one(run(item, width), bare)?)))
        {
            before = longest;
            longest = longest.max(Some(wait));
            item += width;
            continue;
        }
        if run(item, 1).contains(':') {
            longest = before;
        }
        before = longest;
        item += 1;
    }
    longest
}

fn one(text: &str, bare: &dyn Fn(&str) -> Option<Duration>) -> Option<Duration> {
    let text = short(without_extras(text))?;
    bare(text)
        .or_else(|| span::with_units(text))
        .or_else(|| span::iso(text))
        .or_else(|| {
            let is_never = NEVER.iter().any(|word| text.eq_ignore_ascii_case(word));
            is_never.then_some(Duration::MAX)
        })
        .or_else(|| {
            let text = ungrouped(text)?;
            bare(&text).or_else(|| span::with_units(&text))
        })
        .or_else(|| date::until(text))
}

/// Without quotes around it, and without parameters (`120;`) or a comment (`120 (approx)`) at its end.
fn without_extras(text: &str) -> &str {
    let mut text = text.trim();
    if let Some((value, parameters)) = text.split_once(';')
        // One of a list.
        && !parameters.contains(',')
    {
        text = value.trim_end();
    }
    text = text.trim_matches(['"', '\'']).trim();
    if let Some((value, comment)) = text.strip_suffix(')').and_then(|text| text.split_once('('))
        && !comment.contains(')')
    {
        text = value.trim_end();
    }
    text
}

fn short(text: &str) -> Option<&str> {
    if text.len() <= LONGEST {
        return Some(text);
    }
    let text = text.trim_start_matches('0');
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = &text[digits..];
    match digits {
        0..LONGEST => (text.len() <= LONGEST).then_some(text),
        _ if unit.len() <= LONGEST && unit.chars().all(char::is_alphabetic) => Some(TOO_BIG),
        _ => None,
    }
}

/// A number with a comma for each three digits, without them: `1,000`. As a list it would be shorter.
fn ungrouped(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ',');
    let (number, rest) = text.split_at(end.unwrap_or(text.len()));
    let (first, groups) = number.split_once(',')?;
    let is_grouped = matches!(first.len(), 1..=3)
        && !first.starts_with('0')
        && groups.split(',').all(|group| group.len() == 3);
    is_grouped.then(|| number.replace(',', "") + rest)
}
