//! Masks and escapes all text that leaves the crate.
//!
//! All text that this crate writes to a log line, an event or a span passes [`redacted`], which masks
//! secrets, or [`shown`], which also bounds and escapes it. A secret is recognized by the
//! [name](keys) of its argument, by its [shape](shapes), or because it was masked in the arguments of
//! the [call](scope) that is being polled. If no call is being polled, all [running] calls count.
//! Then the text passes the user's own hook.

mod beginnings;
mod hidden;
mod keys;
mod names;
mod parts;
mod quoted;
mod running;
mod scope;
mod secrets;
mod shapes;

use self::{hidden::last, keys::Key};
pub(crate) use self::{
    hidden::{escaped, first, is_blank, is_hidden},
    scope::{Hook, Redaction, is_secret_number, passes_as_it_is, within},
    secrets::Secrets,
    shapes::{is_name, is_value, names_a_secret},
};
use std::borrow::Cow;

/// How much of a text is searched for secrets, or read as JSON. More than is ever written, so that a
/// secret is found before it is cut.
pub(crate) const SCAN_LIMIT: usize = 16 * 1024;

/// The most bytes of a message that are kept or written.
pub(crate) const MESSAGE_LIMIT: usize = 4 * 1024;

/// The most bytes of a name that are shown or written.
pub(crate) const NAME_LIMIT: usize = 256;

/// The mark in place of a secret.
pub(crate) const MASK: &str = "[masked]";

/// The first 16 KiB of a text at most, masked. Hidden characters are kept.
pub(crate) fn redacted(text: &str) -> Cow<'_, str> {
    scope::redacted(without_shapes(text))
}

/// Joins the texts of several errors. Each is masked by itself, because the end of one text and the
/// start of the next do not belong together.
pub(crate) fn joined(texts: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    for text in texts {
        if !out.is_empty() {
            out.push_str(": ");
        }
        out.push_str(&without_shapes(&text));
        if out.len() > SCAN_LIMIT {
            break;
        }
    }
    hooked(&out).into_owned()
}

/// Masks the values of the current calls and applies the user's hook. Does not look for secrets by
/// shape.
pub(crate) fn hooked(text: &str) -> Cow<'_, str> {
    scope::redacted(Cow::Borrowed(first(text, SCAN_LIMIT)))
}

/// At most `limit` bytes of a text on one line, masked and with hidden characters escaped.
pub(crate) fn shown(text: &str, limit: usize) -> String {
    escaped(&redacted(text), limit, &[])
}

/// Like [`shown`], with the limit of a name or an id.
pub(crate) fn shown_name(name: &str) -> String {
    shown(name, NAME_LIMIT)
}

/// Whether it is the name of a secret, in any case and with any separators.
pub(crate) fn is_secret_name(name: &str) -> bool {
    keys::read(name) != Key::Harmless
}

/// Whether a number with this name is secret.
pub(crate) fn is_name_of_secret_number(name: &str) -> bool {
    keys::read(name) == Key::Secret
}

/// Whether a member only describes the secret object that it is in, such as its type.
pub(crate) fn is_description(name: &str) -> bool {
    names::ABOUT
        .iter()
        .any(|word| name.eq_ignore_ascii_case(word))
}

/// Whether a key in a secret object is the name of a field, and not itself a secret.
pub(crate) fn is_field(name: &str) -> bool {
    name.len() < 4
        || is_description(name)
        || is_secret_name(name)
        || is_name(name)
        || is_value(name)
        || names::FIELDS
            .iter()
            .any(|word| name.eq_ignore_ascii_case(word))
}

/// Adds the secrets that are found in a text by shape. Returns whether there are any.
pub(crate) fn collect(text: &str, secrets: &mut Secrets) -> bool {
    shapes::each(first(text, SCAN_LIMIT), &mut |secret| {
        collect_secret(secret, secrets);
    })
}

/// Whether a text has a secret by its shape.
pub(crate) fn has_secret(text: &str) -> bool {
    !shapes::find(first(text, SCAN_LIMIT)).is_empty()
}

/// Adds a secret, and those parts of it that other texts may quote alone: secrets by shape in it
/// (the password of a URL), and its lines and words.
pub(crate) fn collect_secret(secret: &str, secrets: &mut Secrets) {
    secrets.add(secret);
    shapes::each(first(secret, SCAN_LIMIT), &mut |part| secrets.add(part));
    parts::each(first(secret, SCAN_LIMIT), &mut |part| secrets.add(part));
}

fn without_shapes(text: &str) -> Cow<'_, str> {
    let text = first(text, SCAN_LIMIT);
    let found = shapes::find(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for range in found {
        out.push_str(&text[copied..range.start]);
        out.push_str(MASK);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}
