use crate::{
    lock::Mutex,
    text::{MASK, SCAN_LIMIT, shown},
};
use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use tokio::io::{AsyncRead, AsyncReadExt};

/// How many lines are kept, and how much of each.
const LINES: usize = 20;
const LINE: usize = 500;

/// Gets each line, masked and escaped.
pub(in crate::rmcp::client) type Sink = Arc<dyn Fn(&str) + Send + Sync>;

/// The last lines of a stream, and the function that gets its lines.
#[derive(Clone)]
pub(super) struct StderrTail {
    lines: Arc<Mutex<VecDeque<String>>>,
    sink: Sink,
}

impl StderrTail {
    pub(super) fn new(sink: Sink) -> Self {
        Self {
            lines: Arc::default(),
            sink,
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().iter().cloned().collect()
    }

    /// Reads to the end, so that the writer never waits.
    pub(super) async fn read(&self, mut stream: impl AsyncRead + Unpin) {
        let mut chunk = [0; 4096];
        let mut line = Vec::new();
        let mut key_lines = KeyLines::default();
        let mut has_sink = true;
        while let Ok(length @ 1..) = stream.read(&mut chunk).await {
            for byte in &chunk[..length] {
                if *byte == b'\n' {
                    self.end_line(&mut line, &mut key_lines, &mut has_sink);
                } else if line.len() < SCAN_LIMIT {
                    line.push(*byte);
                }
            }
        }
        self.end_line(&mut line, &mut key_lines, &mut has_sink);
    }

    fn end_line(&self, line: &mut Vec<u8>, key_lines: &mut KeyLines, has_sink: &mut bool) {
        let text = String::from_utf8_lossy(line);
        let text = key_lines.masked(text.trim_end());
        let text = text.map(|text| shown(&text, LINE)).unwrap_or_default();
        line.clear();
        if text.is_empty() {
            return;
        }
        if *has_sink && catch_unwind(AssertUnwindSafe(|| (self.sink)(&text))).is_err() {
            *has_sink = false;
            tracing::warn!("the function that gets the stderr of a server panicked");
        }
        let mut lines = self.lines.lock();
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}

impl fmt::Debug for StderrTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StderrTail")
            .field(&self.lines.lock())
            .finish()
    }
}

/// Follows a PEM block over the lines of a stream. One mask replaces all its lines.
#[derive(Debug, Default)]
struct KeyLines {
    is_inside: bool,
}

impl KeyLines {
    /// The line without its part of a block. `None` if nothing is left.
    fn masked<'l>(&mut self, line: &'l str) -> Option<Cow<'l, str>> {
        let mut line = Cow::Borrowed(line);
        if self.is_inside {
            if let Some(end) = line.find("-----END ") {
                line = format!("{MASK}{}", &line[end..]).into();
            } else if is_of_block(&line) {
                return None;
            }
            self.is_inside = false;
        }
        let begin = line.rfind("-----BEGIN ");
        let rest = begin.map(|begin| &line[begin..]);
        self.is_inside = rest.is_some_and(|rest| !rest.contains("-----END ") && !is_public(rest));
        Some(line)
    }
}

fn is_public(block: &str) -> bool {
    let label = block.trim_start_matches('-').split("-----").next();
    label.is_some_and(|label| label.contains("PUBLIC"))
}

/// Whether a line, after what a logger may write before it, is Base64 or a header of a block.
fn is_of_block(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let Some(last) = words.next_back() else {
        return true;
    };
    let is_base64 = last
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    let is_long = last.len() >= 16 || last.ends_with('=') || words.next().is_none();
    (is_base64 && is_long) || line.contains("Proc-Type:") || line.contains("DEK-Info:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_over_several_lines_is_one_mask_whichever_lines_are_kept() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let key = format!("{}AbC=\n", format!("{line}\n").repeat(26));
        for (before, after) in [
            ("", "-----END PRIVATE KEY-----\nthe end\n"),
            ("", "thread panicked at x\nthe end\n"),
            ("key: ", "-----END PRIVATE KEY----- was refused\nthe end\n"),
        ] {
            let text = format!("one\n{before}-----BEGIN PRIVATE KEY-----\n{key}{after}");
            let words = StderrTail::new(Arc::new(|_| {}));
            words.read(text.as_bytes()).await;
            let lines = words.lines();
            assert_eq!(lines.first().map(String::as_str), Some("one"));
            assert_eq!(lines.last().map(String::as_str), Some("the end"));
            assert_eq!(lines.len(), 4, "{lines:?}");
            assert!(
                lines
                    .iter()
                    .all(|line| !line.contains("MII") && !line.contains("AbC"))
            );
        }
    }
}
