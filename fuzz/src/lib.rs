//! The checks of the three readers, over bytes: each panics on an input that it finds wrong.
//!
//! They are those of the property tests in `tests/readers`, and need no fuzzer to run.

#[path = "../../tests/readers/checks/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the property tests need more")]
mod checks;

use checks::{Parts, Story};

/// A text, and the number that it may be, as a wait.
pub fn retry_after(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    checks::text(&text);
    if let Ok(number) = serde_json::from_str(&text) {
        checks::number(&number);
    }
}

/// Structured content, `_meta` and texts of a flagged result, with 0xff between them; and the first
/// of them as the data of a JSON-RPC error.
pub fn envelope(data: &[u8]) {
    let parts = Parts::of_bytes(data);
    parts.check();
    for code in [-32602, -32023, -32600] {
        let message = parts.texts.first().map_or("", String::as_str);
        parts.check_as_rpc_error(code, message);
    }
}

/// A call and its end, with 0xff between what they are made of.
pub fn log_line(data: &[u8]) {
    Story::of_bytes(data).check();
}
