//! JSON with numbers that no `f64` holds.
//!
//! `1e400` and a number of 400 digits are valid JSON, but `serde_json` refuses a text with one. Such
//! a wait must not hide the rest of a failure, so a reader of failures reads it as a very large
//! number.

use serde_json::{Result, Value};

/// The number in place of one that is too large.
const LARGEST: &str = "1.7e308";

/// Reads a failure.
pub(crate) fn read(text: &str) -> Result<Value> {
    serde_json::from_str(text).or_else(|error| {
        let finite = finite(text).ok_or(error)?;
        serde_json::from_str(&finite)
    })
}

/// The text with a large number in place of each that is too large. `None` if there is none.
fn finite(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at + 1),
            b'-' | b'0'..=b'9' => {
                let is_part =
                    |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                let length = bytes[at..].iter().take_while(is_part).count();
                let number: std::result::Result<f64, _> = text[at..at + length].parse();
                if let Ok(number) = number
                    && number.is_infinite()
                {
                    out.push_str(&text[copied..at]);
                    out.push_str(if number < 0.0 { "-" } else { "" });
                    out.push_str(LARGEST);
                    copied = at + length;
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// The position after the closing quote of a string.
pub(crate) fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin;
    while let Some(step) = bytes.get(at..).and_then(|rest| {
        let mut rest = rest.iter();
        rest.position(|byte| matches!(byte, b'"' | b'\\'))
    }) {
        at += step;
        match bytes[at] {
            b'"' => return at + 1,
            _ => at += 2,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_that_is_too_big_does_not_hide_the_rest() {
        let nines = "9".repeat(400);
        for number in ["1e400", "1E+400", &nines] {
            let text = format!(r#"{{"a":"1e400 \" -","wait":[{number},-{number},5],"no":false}}"#);
            let read = read(&text).unwrap();
            let expected = json!({"a": "1e400 \" -", "wait": [1.7e308, -1.7e308, 5], "no": false});
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in [
            "",
            "{",
            "{\"a\":1e400",
            "{\"a\":1e400,}",
            "-",
            "1e400 x",
            "\"\\",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(finite("[1, 2e3, \"9e999\"]"), None);
    }
}
