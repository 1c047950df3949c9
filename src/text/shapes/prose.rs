//! Tells the words of a sentence from secrets.

const WORDS: &[&str] = &[
    "a",
    "about",
    "access",
    "already",
    "an",
    "and",
    "any",
    "are",
    "array",
    "as",
    "at",
    "attempt",
    "auth",
    "authentication",
    "authorization",
    "bad",
    "basic",
    "be",
    "bearer",
    "before",
    "boolean",
    "bonds",
    "by",
    "can",
    "cannot",
    "contains",
    "could",
    "credentials",
    "denied",
    "did",
    "digest",
    "does",
    "empty",
    "error",
    "exceeded",
    "expected",
    "expired",
    "expires",
    "failed",
    "failure",
    "false",
    "field",
    "fields",
    "for",
    "forbidden",
    "format",
    "found",
    "from",
    "got",
    "granted",
    "had",
    "has",
    "have",
    "header",
    "headers",
    "if",
    "in",
    "incorrect",
    "input",
    "insufficient",
    "integer",
    "invalid",
    "is",
    "it",
    "key",
    "length",
    "limit",
    "list",
    "login",
    "malformed",
    "may",
    "mismatch",
    "missing",
    "must",
    "need",
    "needs",
    "negotiate",
    "never",
    "new",
    "nil",
    "no",
    "none",
    "not",
    "null",
    "number",
    "oauth",
    "oauth2",
    "object",
    "of",
    "ok",
    "on",
    "only",
    "optional",
    "or",
    "parse",
    "password",
    "permission",
    "please",
    "provided",
    "refused",
    "rejected",
    "required",
    "revoked",
    "scheme",
    "scope",
    "secret",
    "see",
    "server",
    "set",
    "should",
    "some",
    "string",
    "support",
    "supported",
    "than",
    "that",
    "the",
    "this",
    "to",
    "token",
    "tokens",
    "too",
    "true",
    "type",
    "unauthorized",
    "undefined",
    "unexpected",
    "unknown",
    "unset",
    "unsupported",
    "use",
    "used",
    "user",
    "using",
    "valid",
    "validation",
    "value",
    "values",
    "was",
    "were",
    "when",
    "will",
    "with",
    "without",
    "wrong",
    "you",
    "your",
    "http",
    "https",
    "json",
];

/// Whether a word is an ordinary word or a placeholder, and so not a secret. Punctuation after it
/// is ignored.
pub(in crate::text) fn is_word(word: &str) -> bool {
    let word = word
        .trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '>' | '}' | '*' | ']'));
    let is_listed = || WORDS.iter().any(|listed| listed.eq_ignore_ascii_case(word));
    word.is_empty() || (word.len() <= 16 && is_listed()) || is_placeholder(word)
}

/// `<token>`, `${TOKEN}`, `$TOKEN`, `***`, `[masked]`.
fn is_placeholder(word: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let inside = |begin: &str, end: &str| {
        word.strip_prefix(begin)
            .and_then(|rest| rest.strip_suffix(end))
            .is_some_and(is_name)
    };
    inside("<", ">")
        || inside("${", "}")
        || inside("[", "]")
        || inside("{", "}")
        || inside("{{", "}}")
        || word.bytes().all(|byte| byte == b'*')
        || word.strip_prefix('$').is_some_and(|name| {
            is_name(name) && !name.bytes().any(|byte| byte.is_ascii_lowercase())
        })
}

/// Whether a word looks generated: letters and digits.
pub(in crate::text) fn is_random(word: &str) -> bool {
    let has = |is_one: fn(&u8) -> bool| word.bytes().any(|byte| is_one(&byte));
    let is_made = word.len() >= 6 && has(u8::is_ascii_alphabetic) && has(u8::is_ascii_digit);
    is_made && !is_known(word)
}

/// Whether a word in a sentence looks like a secret: letters with digits, letters with a special
/// character, or a number if the secret may be one (a PIN).
pub(super) fn is_told(word: &str, may_be_number: bool) -> bool {
    if is_word(word) || is_version(word) || word.contains(['(', '=', ':', '/']) {
        return false;
    }
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        return may_be_number && (4..=10).contains(&word.len());
    }
    let is_signed = word.len() >= 6
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
        && word
            .trim_end_matches(['!', '?'])
            .contains(['!', '@', '#', '$', '%', '^', '&', '*', '~']);
    is_random(word) || is_signed
}

/// `v2.0.1`, `1.2.3`.
fn is_version(word: &str) -> bool {
    let numbers = word.strip_prefix('v').unwrap_or(word);
    numbers.contains('.')
        && numbers
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Names of algorithms and of encodings.
fn is_known(word: &str) -> bool {
    let known = [
        "sha1", "sha256", "sha512", "base64", "base32", "oauth2", "argon2", "argon2id", "utf8mb4",
        "hs256", "rs256", "es256", "aes128", "aes256", "pbkdf2", "totp6", "utf16le", "x509v3",
    ];
    word.len() <= 8 && known.iter().any(|known| known.eq_ignore_ascii_case(word))
}
