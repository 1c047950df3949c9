use serde_json::Value;

/// How much of a name or a value is looked at, and how much of the end is kept, in bytes.
const TOKEN: usize = 64;

/// Looks for the id in a text that is no JSON, or too long or too deep to be read. It takes the text in
/// parts, and keeps next to nothing of it.
#[derive(Debug, Default)]
pub(super) struct Scan {
    depth: u32,
    place: Place,
    quotes: Quotes,
    is_value: bool,
    /// What was read of the name or the value.
    token: Vec<u8>,
    name: Vec<u8>,
    id: Option<Value>,
    has_method: bool,
    is_message: bool,
    /// The end of the text so far.
    tail: Vec<u8>,
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
    pub(super) fn of(text: &[u8]) -> Self {
        let mut scan = Self::default();
        scan.feed(text);
        scan
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.place == Place::Over {
                break;
            }
            self.step(byte);
        }
        self.tail
            .extend(&bytes[bytes.len().saturating_sub(TOKEN)..]);
        self.tail.drain(..self.tail.len().saturating_sub(TOKEN));
    }

    /// The id of the message, if it is an answer.
    pub(super) fn id(mut self) -> Option<Value> {
        self.end_value();
        if self.has_method || !self.is_message {
            return None;
        }
        self.id.take().or_else(|| self.id_at_the_end())
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
                match self.name.as_slice() {
                    b"\"method\"" => self.has_method = true,
                    b"\"jsonrpc\"" | b"\"result\"" | b"\"error\"" => self.is_message = true,
                    _ => {}
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
        let value = std::mem::take(&mut self.token);
        if std::mem::take(&mut self.is_value) && self.name == b"\"id\"" {
            self.id = id(&value);
        }
    }

    /// In a text whose quotes are broken, its last member.
    fn id_at_the_end(&self) -> Option<Value> {
        let tail = self.tail.trim_ascii_end().strip_suffix(b"}")?;
        let name = b"\"id\"";
        let at = tail.windows(name.len()).rposition(|part| part == name)?;
        let value = tail[at + name.len()..].trim_ascii_start();
        id(value.strip_prefix(b":")?.trim_ascii())
    }
}

fn id(token: &[u8]) -> Option<Value> {
    let id = serde_json::from_slice(token).ok();
    id.filter(|id: &Value| id.is_number() || id.is_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        ] {
            assert_eq!(Scan::of(text.as_bytes()).id(), Some(json!(7)), "{text}");
            let mut scan = Scan::default();
            for byte in text.as_bytes() {
                scan.feed(&[*byte]);
            }
            assert_eq!(scan.id(), Some(json!(7)), "{text} in parts");
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
            assert_eq!(Scan::of(text.as_bytes()).id(), None, "{text}");
        }
    }
}
