//! The parts of a secret that other texts may quote alone.

use super::shapes::{is_random, is_word};

/// Shorter lines and passwords would match too many ordinary words.
const SHORTEST: usize = 4;

/// Enough for a key: one of 4096 bits has about fifty lines.
const MOST_LINES: usize = 128;

/// Calls `see` with each part of a secret: its lines, the credential after a scheme, the password
/// after a user, and the values of a list such as cookies. Does the same for the unescaped secret.
pub(super) fn each(secret: &str, see: &mut dyn FnMut(&str)) {
    each_as_written(secret, see);
    let decoded = [percent_decoded(secret), unescaped(secret)];
    for decoded in decoded.into_iter().flatten() {
        see(&decoded);
        each_as_written(&decoded, see);
    }
}

fn each_as_written(secret: &str, see: &mut dyn FnMut(&str)) {
    let secret = secret.trim();
    if secret.contains('\n') {
        let lines = secret.lines().map(str::trim);
        // The first and the last line of a PEM block are not secret.
        let is_one = |line: &&str| line.len() >= 2 * SHORTEST && !line.starts_with("-----");
        lines.filter(is_one).take(MOST_LINES).for_each(&mut *see);
        return;
    }
    let members = secret
        .split(';')
        .filter_map(|member| member.split_once('='));
    members
        .map(|(_, value)| value.trim())
        .filter(|value| is_random(value))
        .for_each(&mut *see);
    if let Some(part) = last_of_two(secret) {
        see(part);
    }
}

/// The `x` of `Scheme x`, `user:x`, `user/x` and `user,x`.
fn last_of_two(secret: &str) -> Option<&str> {
    let two = |sign: char| {
        let (first, last) = secret.split_once(sign)?;
        let (first, last) = (first.trim(), last.trim());
        let is_two = !first.is_empty() && last.len() >= SHORTEST && !last.contains(sign);
        is_two.then_some(last)
    };
    let is_password =
        |part: &&str| !is_word(part) && part.bytes().any(|byte| !byte.is_ascii_digit());
    let is_plain = !secret.contains(['@', '{', '[', '"', '=']) && !secret.contains("://");
    if !is_plain {
        return None;
    }
    two(':').filter(is_password).or_else(|| {
        [' ', '/', ',']
            .into_iter()
            .find_map(|sign| two(sign).filter(|part| is_random(part)))
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return None;
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let hex = hex.filter(|_| byte == b'%');
        if let Some(decoded) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            out.push(decoded);
            rest = &after[2..];
        } else {
            out.push(byte);
            rest = after;
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

/// Decodes the escapes of JSON.
fn unescaped(text: &str) -> Option<String> {
    if !text.contains('\\') {
        return None;
    }
    let json = format!("\"{text}\"");
    serde_json::from_str(&json).ok()
}
