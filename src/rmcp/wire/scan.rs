use serde::de::DeserializeOwned;
use serde_json::Value;

/// How much of a name or a value is examined, in bytes.
const TOKEN: usize = 64;

/// How much of the end is kept, in bytes.
const TAIL: usize = 256;

/// Finds the id in a text that is not JSON, or too long or too deep to be read. It takes the text in
/// parts, and keeps almost nothing of it.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is seen or not, on its own"
)]
pub(in crate::rmcp) struct Scan {
    depth: u32,
    place: Place,
    quotes: Quotes,
    is_value: bool,
    /// The part of the name or the value so far.
    token: Vec<u8>,
    name: Vec<u8>,
    id: Option<Value>,
    method: Option<String>,
    is_id: bool,
    is_method: bool,
    has_method: bool,
    has_version: bool,
    has_result: bool,
    has_others: bool,
    /// The end of the text so far.
    tail: Vec<u8>,
}

/// What is known about an unreadable message.
#[derive(Debug)]
pub(in crate::rmcp) struct Head {
    /// The id, if it may be an answer.
    #[cfg_attr(
        not(feature = "rmcp-client"),
        allow(dead_code, reason = "answers are for clients")
    )]
    pub(in crate::rmcp) answers: Option<Value>,
    /// The id, if it may be a request.
    #[cfg_attr(
        not(feature = "rmcp"),
        allow(dead_code, reason = "requests are for servers")
    )]
    pub(in crate::rmcp) asks: Option<Value>,
    #[cfg_attr(
        not(feature = "rmcp"),
        allow(dead_code, reason = "requests are for servers")
    )]
    pub(in crate::rmcp) method: Option<String>,
}

/// Where the members of the message are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Ahead,
    /// At that depth.
    At(u32),
    Over,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Quotes {
    #[default]
    Outside,
    Inside,
    /// Right after a backslash.
    Escaped,
}

impl Scan {
    /// Takes the next part of the text up to the end of the first object, and returns its length.
    pub(in crate::rmcp) fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut length = bytes.len();
        for (at, &byte) in bytes.iter().enumerate() {
            if self.place == Place::Over {
                length = at;
                break;
            }
            self.step(byte);
        }
        let taken = &bytes[..length];
        self.tail.extend(&taken[taken.len().saturating_sub(TAIL)..]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        length
    }

    /// Whether the object has ended.
    pub(in crate::rmcp) fn is_over(&self) -> bool {
        self.place == Place::Over
    }

    /// Whether its names so far are those of an answer, and not those of a log line.
    pub(in crate::rmcp) fn may_be_an_answer(&self) -> bool {
        if self.has_version {
            self.has_result || !self.has_method
        } else {
            self.has_result && !self.has_others && !self.has_method
        }
    }

    /// The id of the message, if it is an answer.
    #[cfg(feature = "rmcp-client")]
    pub(in crate::rmcp) fn into_id(self) -> Option<Value> {
        self.into_head().answers
    }

    /// What is known about the message.
    pub(in crate::rmcp) fn into_head(mut self) -> Head {
        self.end_value();
        let is_answer = self.may_be_an_answer();
        let is_request = self.has_method || self.has_version && !self.has_result;
        let id = self.id.take().or_else(|| self.id_at_the_end());
        Head {
            answers: id.clone().filter(|_| is_answer),
            asks: id.filter(|_| is_request && !self.has_result),
            method: self.method,
        }
    }

    /// A member at the end of a text whose quotes are broken.
    fn id_at_the_end(&self) -> Option<Value> {
        let tail = String::from_utf8_lossy(&self.tail);
        let tail = tail.trim_end().strip_suffix('}')?;
        let (_, value) = tail.rsplit_once("\"id\"")?;
        id(value.trim_start().strip_prefix(':')?.trim().as_bytes())
    }

    fn step(&mut self, byte: u8) {
        if self.quotes != Quotes::Outside {
            self.quotes = match (self.quotes, byte) {
                (Quotes::Inside, b'\\') => Quotes::Escaped,
                (Quotes::Inside, b'"') => Quotes::Outside,
                _ => Quotes::Inside,
            };
            return self.keep(byte);
        }
        match byte {
            b'"' => {
                self.quotes = Quotes::Inside;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                if self.place == Place::Ahead && byte == b'{' {
                    self.place = Place::At(self.depth);
                }
            }
            b'}' | b']' => {
                if self.is_at_base() {
                    self.end_value();
                    self.place = Place::Over;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.is_at_base() && !self.is_value => {
                self.name = std::mem::take(&mut self.token);
                self.is_value = true;
                // It may be written with escapes.
                let name: Option<String> = value(&self.name);
                match name.as_deref() {
                    Some("method") => {
                        self.has_method = true;
                        self.is_method = true;
                    }
                    Some("jsonrpc") => self.has_version = true,
                    Some("result" | "error") => self.has_result = true,
                    Some("id") => self.is_id = true,
                    _ => self.has_others = true,
                }
            }
            b',' if self.is_at_base() => self.end_value(),
            _ if byte.is_ascii_whitespace() => {}
            _ => self.keep(byte),
        }
    }

    fn is_at_base(&self) -> bool {
        self.place == Place::At(self.depth)
    }

    fn keep(&mut self, byte: u8) {
        if self.is_at_base() && self.token.len() < TOKEN {
            self.token.push(byte);
        }
    }

    fn end_value(&mut self) {
        let token = std::mem::take(&mut self.token);
        let is_id = std::mem::take(&mut self.is_id);
        let is_method = std::mem::take(&mut self.is_method);
        if !std::mem::take(&mut self.is_value) {
            return;
        }
        if is_id {
            self.id = id(&token);
        }
        if is_method {
            self.method = value(&token);
        }
    }
}

fn id(token: &[u8]) -> Option<Value> {
    value(token).filter(|id: &Value| !id.is_null())
}

/// The value in a token. Blanks around it that JSON does not allow do not hide it.
fn value<T: DeserializeOwned>(token: &[u8]) -> Option<T> {
    let text = str::from_utf8(token).ok()?;
    serde_json::from_str(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn head_of(text: &str) -> Head {
        let mut scan = Scan::default();
        scan.feed(text.as_bytes());
        scan.into_head()
    }

    #[test]
    fn the_id_is_found_in_texts_that_are_no_json() {
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"un"quoted"}]}}"#,
            r#"{"jsonrpc":"2.0","result":{"text":"un"quoted"},"id":7}"#,
            r#"{"id" : 7 , "result":{"x":NaN}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"id":9"#,
            r#"{"result":{"id":9,"text":"\"id\":8"},"jsonrpc":"2.0","id":7}"#,
            r#"[{"jsonrpc":"2.0","id":7,"result":{]"#,
            r#"{"jsonrpc":"2.0","id":7"#,
            r#"{"jsonrpc":"2.0","\u0069d":7,"result":{"x":NaN}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","id":7,"result":{"x":NaN}}"#,
        ] {
            assert_eq!(head_of(text).answers, Some(json!(7)), "{text}");
            let mut scan = Scan::default();
            for byte in text.as_bytes() {
                scan.feed(&[*byte]);
            }
            assert_eq!(scan.into_head().answers, Some(json!(7)), "{text} in parts");
        }
    }

    #[test]
    fn what_is_no_answer_has_no_id() {
        for text in [
            r#"{"level":"info","id":7,"text":"un"quoted"}"#,
            r#"{"jsonrpc":"2.0","method":"x","id":7,"params":{"#,
            r#"{"jsonrpc":"2.0","result":{"id":7"#,
            "[info] id: 7",
            "",
        ] {
            assert_eq!(head_of(text).answers, None, "{text}");
        }
    }

    #[test]
    fn a_request_has_an_id_and_a_method() {
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":NaN}}"#,
            r#"{"method":"ping","params":{"id":9},"id":7"#,
            r#"{"jsonrpc":"2.0","method":"ping","params":{"text":"un"quoted"},"id":7}"#,
        ] {
            let head = head_of(text);
            assert_eq!(head.asks, Some(json!(7)), "{text}");
            assert_eq!(head.method.as_deref(), Some("ping"), "{text}");
        }
        let answer = head_of(r#"{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}"#);
        assert_eq!((answer.asks, answer.method), (None, None));
    }
}
