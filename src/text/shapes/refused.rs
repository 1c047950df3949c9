//! Values that an error quotes at a distance from the name of their field: `invalid value 'x' for
//! '--token'`, `Key (token)=(x) already exists`, `input_value='x'` below the name.

use super::{
    prose,
    source::Source,
    value::{self, Form},
};
use crate::text::{
    beginnings::Beginnings,
    first,
    keys::{self, Key},
    last,
};
use std::ops::Range;

/// The longest distance of the name, in bytes.
const NEAR: usize = 256;

/// The text before the value, and the text between the value and the name.
const FORMS: [(&str, &str); 2] = [
    ("invalid value ", " for "),
    ("duplicate entry ", " for key "),
];

pub(super) static BEGINNINGS: Beginnings = Beginnings::NONE.with(FORMS[0].0).with(FORMS[1].0);

/// The value in an error of a command line or of a database. The error's text begins at `at`.
pub(super) fn before_name(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    if !BEGINNINGS.may_begin_in_any_case(rest.as_bytes()) {
        return None;
    }
    let (begin, then) = FORMS.iter().find(|(begin, _)| {
        rest.get(..begin.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(begin))
    })?;
    let value = value::at(text, at + begin.len())?;
    let quote = value.range.end + 1;
    if value.form != Form::Quoted {
        return None;
    }
    let after = first(text.get(quote..)?, NEAR).strip_prefix(then)?;
    let after = after.strip_prefix("flag ").unwrap_or(after);
    let name = after.trim_start_matches(['\'', '"', '`', '-']);
    let name = name.split(|c: char| c.is_whitespace() || "'\"`:=<".contains(c));
    let is_secret = name.into_iter().next().is_some_and(is_secret);
    is_secret.then_some(value.range)
}

/// The row after a list of columns, if one of the columns is secret: `(email, token)=(…)`, `(email,
/// token) VALUES (…)`.
pub(super) fn row(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let before = last(&text[..at], NEAR);
    let columns = before.strip_suffix(")=").or_else(|| {
        let sql = before.trim_end();
        let (columns, word) = sql.split_at_checked(sql.len().checked_sub("values".len())?)?;
        let is_one = word.eq_ignore_ascii_case("values");
        columns.trim_end().strip_suffix(')').filter(|_| is_one)
    })?;
    text.charge(before.len());
    let (_, columns) = columns.rsplit_once('(')?;
    if !columns.split(',').any(|column| is_secret(column.trim())) {
        return None;
    }
    let near = first(&text[at + 1..], 4 * NEAR);
    let end = near.find([')', '\n']).unwrap_or(near.len());
    text.charge(end);
    Some(at + 1..at + 1 + end)
}

/// The input in an error of a Python validator. The name of the field is on the line before.
pub(super) fn input(
    text: &Source<'_>,
    name: &str,
    start: usize,
    sign: usize,
) -> Option<Range<usize>> {
    if name != "input_value" {
        return None;
    }
    let before = last(&text[..start], NEAR);
    text.charge(before.len());
    let mut lines = before.rsplit('\n');
    let field = lines.nth(1)?.trim();
    let field = field.rsplit('.').next()?;
    let value = value::at(text, sign + 1).filter(|_| is_secret(field))?;
    (!prose::is_word(&text[value.range.clone()])).then_some(value.range)
}

fn is_secret(name: &str) -> bool {
    keys::read(name.trim_matches(['"', '`', '\''])) != Key::Harmless
}
