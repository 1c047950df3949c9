//! The only way out for text.
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

use self::keys::Key;
pub(crate) use self::{
    hidden::{escaped, first, is_blank, is_hidden},
    scope::{Hook, Redaction, is_secret_number, within},
    secrets::Secrets,
    shapes::{is_name, is_value, names_a_secret},
};
use std::borrow::Cow;

/// The longest part of a text that is read for secrets, or as JSON. It is more than is ever written,
/// so that a secret is seen before it is cut.
pub(crate) const SCAN_LIMIT: usize = 16 * 1024;

/// The longest part of a message that is kept or written.
pub(crate) const MESSAGE_LIMIT: usize = 4 * 1024;

/// The longest part of a name that is shown or written.
pub(crate) const NAME_LIMIT: usize = 256;

/// The mark in place of a secret.
pub(crate) const MASK: &str = "[masked]";

/// At most the first 16 KiB of a text, masked. Hidden characters stay.
pub(crate) fn redacted(text: &str) -> Cow<'_, str> {
    scope::redacted(without_shapes(text))
}

/// The texts of several errors as one. Each is masked by itself, since their neighbourhood means
/// nothing.
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

/// The same, if secrets by shape may be read: only the hook, and without the secrets of the calls
/// around this one.
pub(crate) fn hooked(text: &str) -> Cow<'_, str> {
    scope::redacted(Cow::Borrowed(first(text, SCAN_LIMIT)))
}

/// At most `limit` bytes of a text on one line, masked and with hidden characters escaped.
pub(crate) fn shown(text: &str, limit: usize) -> String {
    escaped(&redacted(text), limit, &[])
}

/// The same for a name or an id.
pub(crate) fn shown_name(name: &str) -> String {
    shown(name, NAME_LIMIT)
}

/// Whether a name is that of a secret, whatever its case and its separators.
pub(crate) fn is_secret_name(name: &str) -> bool {
    keys::read(name) != Key::Harmless
}

/// Whether a number under that name is secret.
pub(crate) fn is_name_of_secret_number(name: &str) -> bool {
    keys::read(name) == Key::Secret
}

/// Whether a member of a secret object only describes it: its type, its method.
pub(crate) fn is_description(name: &str) -> bool {
    names::ABOUT
        .iter()
        .any(|word| name.eq_ignore_ascii_case(word))
}

/// Whether the key of a secret object is the name of a field, and no secret.
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

/// Adds the secrets of a text by their shape. Returns whether there are any.
pub(crate) fn collect(text: &str, secrets: &mut Secrets) -> bool {
    shapes::each(first(text, SCAN_LIMIT), &mut |secret| {
        collect_secret(secret, secrets);
    })
}

/// Whether a text has a secret by its shape.
pub(crate) fn has_secret(text: &str) -> bool {
    !shapes::find(first(text, SCAN_LIMIT)).is_empty()
}

/// Adds a secret, and its parts that others may quote: secrets by shape in it (the password of a
/// URL), and its lines and words.
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
