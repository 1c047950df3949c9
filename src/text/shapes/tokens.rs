//! Tokens with a prefix that identifies their issuer.

use super::source::Source;
use crate::text::beginnings::Beginnings;
use std::ops::Range;

type IsPart = fn(u8) -> bool;

const WORD: IsPart = |byte| byte.is_ascii_alphanumeric() || byte == b'_';
const DASHED: IsPart = |byte| WORD(byte) || byte == b'-';
const DOTTED: IsPart = |byte| DASHED(byte) || byte == b'.';
const UPPER: IsPart = |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit();
const HEX: IsPart = |byte| byte.is_ascii_hexdigit();
const PATH: IsPart = |byte| DASHED(byte) || byte == b'/';

/// The prefix, how many characters follow at least, and which ones. Sorted by the first character.
const ISSUERS: &[(&str, usize, IsPart)] = &[
    ("1//0", 20, DASHED),
    ("APA91b", 24, DASHED),
    ("ATBB", 24, WORD),
    ("AIza", 30, DASHED),
    ("ATATT3", 20, |byte| DASHED(byte) || byte == b'='),
    ("ATCTT3", 20, |byte| DASHED(byte) || byte == b'='),
    ("AGE-SECRET-KEY-1", 16, UPPER),
    ("CCIPAT_", 20, WORD),
    ("CFPAT-", 20, DASHED),
    ("EAACEdEose0cBA", 16, WORD),
    ("GOCSPX-", 16, DASHED),
    ("NRAK-", 16, DASHED),
    ("PMAK-", 16, DASHED),
    ("SG.", 30, DOTTED),
    ("apify_api_", 20, WORD),
    ("atlasv1.", 16, DASHED),
    ("csk-", 20, DASHED),
    ("discord.com/api/webhooks/", 8, PATH),
    ("discordapp.com/api/webhooks/", 8, PATH),
    ("dckr_pat_", 12, DASHED),
    ("dop_v1_", 20, WORD),
    ("doo_v1_", 20, WORD),
    ("dor_v1_", 20, WORD),
    ("dp.pt.", 16, DASHED),
    ("dp.st.", 16, DOTTED),
    ("fm1_", 20, |byte| {
        DASHED(byte) || matches!(byte, b'+' | b'/' | b'=')
    }),
    ("fm2_", 20, |byte| {
        DASHED(byte) || matches!(byte, b'+' | b'/' | b'=')
    }),
    ("figd_", 16, DASHED),
    ("ghp_", 16, WORD),
    ("gho_", 16, WORD),
    ("ghu_", 16, WORD),
    ("ghs_", 16, DOTTED),
    ("ghr_", 16, WORD),
    ("github_pat_", 16, WORD),
    ("glpat-", 12, DOTTED),
    ("gldt-", 12, DOTTED),
    ("glrt-", 12, DOTTED),
    ("glptt-", 12, DASHED),
    ("glcbt-", 12, DASHED),
    ("gloas-", 12, DASHED),
    ("glft-", 12, DASHED),
    ("glsoat-", 12, DASHED),
    ("glagent-", 12, DASHED),
    ("glimt-", 12, DASHED),
    ("gsk_", 20, WORD),
    ("glsa_", 16, WORD),
    ("glc_", 20, |byte| {
        WORD(byte) || matches!(byte, b'+' | b'/' | b'=')
    }),
    ("hooks.slack.com/services/", 8, PATH),
    ("hooks.slack.com/workflows/", 8, PATH),
    ("hooks.slack.com/triggers/", 8, PATH),
    ("hooks.zapier.com/hooks/catch/", 8, PATH),
    ("hf_", 20, WORD),
    ("hvs.", 16, DASHED),
    ("hvb.", 16, DASHED),
    ("hvr.", 16, DASHED),
    ("jina_", 32, WORD),
    ("lin_api_", 16, WORD),
    ("lin_oauth_", 16, WORD),
    ("nvapi-", 20, DASHED),
    ("npm_", 20, WORD),
    ("ntn_", 20, WORD),
    ("ops_eyJ", 20, DASHED),
    ("pplx-", 20, DASHED),
    ("pscale_pw_", 16, DOTTED),
    ("pscale_tkn_", 16, DOTTED),
    ("pscale_oauth_", 16, DOTTED),
    ("pypi-", 20, DASHED),
    ("pat-na1-", 32, DASHED),
    ("pat-eu1-", 32, DASHED),
    ("phx_", 20, WORD),
    ("pul-", 20, WORD),
    ("rk_live_", 8, WORD),
    ("rk_test_", 8, WORD),
    ("r8_", 20, WORD),
    ("rubygems_", 20, WORD),
    ("sk_live_", 8, WORD),
    ("sk_test_", 8, WORD),
    ("sk-ant-", 8, DASHED),
    ("sk-proj-", 8, DASHED),
    ("sk-svcacct-", 8, DASHED),
    ("sk-or-", 8, DASHED),
    ("shpat_", 16, WORD),
    ("shpss_", 16, WORD),
    ("shpca_", 16, WORD),
    ("shppa_", 16, WORD),
    ("sq0atp-", 16, DASHED),
    ("sq0csp-", 16, DASHED),
    ("secret_", 40, WORD),
    ("sntryu_", 16, WORD),
    ("sntrys_", 16, |byte| {
        WORD(byte) || matches!(byte, b'+' | b'/' | b'=')
    }),
    ("sbp_", 20, WORD),
    ("tvly-", 12, DASHED),
    ("tfp_", 20, WORD),
    ("webhook.office.com/webhookb2/", 8, |byte| {
        PATH(byte) || byte == b'@'
    }),
    ("whsec_", 8, |byte| {
        WORD(byte) || matches!(byte, b'+' | b'/' | b'=')
    }),
    ("xoxa-", 8, DASHED),
    ("xoxb-", 8, DASHED),
    ("xoxc-", 8, DASHED),
    ("xoxd-", 8, DASHED),
    ("xoxe-", 8, DASHED),
    ("xoxe.", 8, DOTTED),
    ("xoxo-", 8, DASHED),
    ("xoxp-", 8, DASHED),
    ("xoxr-", 8, DASHED),
    ("xoxs-", 8, DASHED),
    ("xapp-", 8, DASHED),
    ("xai-", 20, DASHED),
    ("xkeysib-", 16, DASHED),
    ("ya29.", 16, DASHED),
];

/// The same with exactly this number of characters.
const EXACT: &[(&str, usize, IsPart)] = &[
    ("AKIA", 16, UPPER),
    ("ASIA", 16, UPPER),
    ("ABIA", 16, UPPER),
    ("ACCA", 16, UPPER),
    ("SK", 32, HEX),
    ("key-", 32, HEX),
    ("dapi", 32, HEX),
    ("fc-", 32, HEX),
];

pub(super) static BEGINNINGS: Beginnings = {
    let mut all = Beginnings::NONE.with(OPENAI).with(JWT);
    let mut at = 0;
    while at < ISSUERS.len() {
        all = all.with(ISSUERS[at].0);
        at += 1;
    }
    at = 0;
    while at < EXACT.len() {
        all = all.with(EXACT[at].0);
        at += 1;
    }
    all
};

/// For each first character, the index of its first issuer.
static FIRSTS: [usize; 129] = {
    let mut firsts = [ISSUERS.len(); 129];
    let mut at = ISSUERS.len();
    let mut first = 128;
    while first > 0 {
        first -= 1;
        while at > 0 && ISSUERS[at - 1].0.as_bytes()[0] as usize >= first {
            at -= 1;
        }
        firsts[first] = at;
    }
    assert!(
        at == 0 && is_sorted(),
        "issuers are sorted by their first character"
    );
    firsts
};

const fn is_sorted() -> bool {
    let mut at = 1;
    while at < ISSUERS.len() {
        if ISSUERS[at - 1].0.as_bytes()[0] > ISSUERS[at].0.as_bytes()[0] {
            return false;
        }
        at += 1;
    }
    true
}

const OPENAI: &str = "sk-";
const JWT: &str = "eyJ";

/// The token that begins at `at`.
pub(super) fn known(text: &Source<'_>, at: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[at..];
    if !BEGINNINGS.may_begin(rest) {
        return None;
    }
    // Ordinary words have only lower-case letters.
    let letters = rest
        .iter()
        .take(16)
        .take_while(|byte| byte.is_ascii_lowercase())
        .count();
    let next = rest.get(letters.max(1))?;
    let may_be_one = match letters {
        0 => next.is_ascii_uppercase() || matches!(next, b'.' | b'/' | b'-'),
        _ => next.is_ascii_alphanumeric() || matches!(next, b'_' | b'-' | b'.'),
    };
    if !may_be_one {
        return None;
    }
    let first = usize::from(rest[0] & 0x7f);
    let with_first = &ISSUERS[FIRSTS[first]..FIRSTS[first + 1]];
    let issued = with_first.iter().find_map(|(begin, least, is_part)| {
        // A fast check: most words differ here.
        if begin.as_bytes().get(1..3) != rest.get(1..3) {
            return None;
        }
        let length = run(rest.strip_prefix(begin.as_bytes())?, *is_part);
        text.charge(length);
        let token = &rest[begin.len()..begin.len() + length];
        // Ordinary words with dashes: `xai-is-the-name-of-a-company`.
        let is_dash = |byte: &u8| matches!(byte, b'-' | b'_');
        let is_prose = || {
            token.iter().any(is_dash)
                && token
                    .iter()
                    .all(|byte| byte.is_ascii_lowercase() || is_dash(byte))
        };
        (length >= *least && !is_prose()).then_some(begin.len() + length)
    });
    let exact = || {
        EXACT.iter().find_map(|(begin, length, is_part)| {
            if begin.as_bytes().get(1) != rest.get(1) {
                return None;
            }
            let after = rest.strip_prefix(begin.as_bytes())?;
            let is_one = run(after, *is_part) == *length && run(after, WORD) == *length;
            is_one.then_some(begin.len() + length)
        })
    };
    let length = issued
        .or_else(exact)
        .or_else(|| openai(text, rest))
        .or_else(|| jwt(text, rest))?;
    let dots = rest[..length]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'.')
        .count();
    Some(at..at + length - dots)
}

/// Ordinary words may begin with `sk-` too. A key is long and has digits.
fn openai(text: &Source<'_>, rest: &[u8]) -> Option<usize> {
    let after = rest.strip_prefix(OPENAI.as_bytes())?;
    let length = run(after, DASHED);
    text.charge(length);
    let key = &after[..length];
    let has = |is_one: fn(&u8) -> bool| key.iter().any(is_one);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let is_key = length >= 20
        && (has(u8::is_ascii_digit) || (!key.contains(&b'-') && (is_mixed || length >= 32)));
    is_key.then_some(3 + length)
}

/// Three parts. The first is an object in Base64, and the last may be missing.
fn jwt(text: &Source<'_>, rest: &[u8]) -> Option<usize> {
    let head = run(rest.starts_with(JWT.as_bytes()).then_some(rest)?, DASHED);
    text.charge(head);
    let body = run(rest.get(head..)?.strip_prefix(b".")?, DASHED);
    text.charge(body);
    if head < 10 || (body < 4 && rest.get(head + 1) != Some(&b'.')) {
        return None;
    }
    Some(head + run(&rest[head..], DOTTED))
}

fn run(bytes: &[u8], is_part: IsPart) -> usize {
    bytes.iter().take_while(|byte| is_part(**byte)).count()
}
