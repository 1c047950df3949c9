use super::{LONGEST, Long, Scan, is_whole};
use serde::de::IgnoredAny;
use std::{io, mem, time::Duration};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt},
    time::timeout,
};

/// After this time without a further byte, a line without an end is examined: some servers write
/// none.
const SILENCE: Duration = Duration::from_millis(200);

/// Reads lines of a bounded length. Dropping the future loses nothing.
///
/// An object that is written over several lines is one line, unless a complete message or silence
/// follows on its beginning.
#[derive(Debug)]
pub(in crate::rmcp) struct Lines<R> {
    stream: R,
    line: Vec<u8>,
    /// The line that is too long, until its end.
    long: Option<Long>,
    /// How much of the line is known not to be a complete message.
    looked_at: usize,
    /// The lines before this one that begin an object.
    open: Option<Open>,
    /// A complete line, after one that was returned.
    next: Option<Vec<u8>>,
}

/// An object that is not complete.
#[derive(Debug)]
struct Open {
    scan: Scan,
    /// How long its lines are.
    length: usize,
}

#[derive(Debug)]
pub(in crate::rmcp) enum Line {
    Whole(Vec<u8>),
    Long(Long),
    /// The rest before the end of the stream, without a line feed.
    Last(Vec<u8>),
    LastLong(Long),
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(in crate::rmcp) fn new(stream: R) -> Self {
        Self {
            stream,
            line: Vec::new(),
            long: None,
            looked_at: 0,
            open: None,
            next: None,
        }
    }

    /// The next line, without its end. `None` at the end of the stream.
    pub(in crate::rmcp) async fn next(&mut self) -> io::Result<Option<Line>> {
        if let Some(line) = self.next.take() {
            return Ok(Some(Line::Whole(line)));
        }
        loop {
            let is_open = !self.line.is_empty() && self.looked_at < self.line.len();
            let chunk = if is_open {
                let Ok(chunk) = timeout(SILENCE, self.stream.fill_buf()).await else {
                    if self.may_end() {
                        return Ok(Some(self.end()));
                    }
                    self.looked_at = self.line.len();
                    continue;
                };
                chunk?
            } else {
                self.stream.fill_buf().await?
            };
            if chunk.is_empty() {
                if let Some(long) = self.long.take() {
                    return Ok(Some(Line::LastLong(long)));
                }
                let last = mem::take(&mut self.line);
                return Ok((!last.is_empty()).then_some(Line::Last(last)));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            match &mut self.long {
                Some(long) => long.add(part),
                None if self.line.len() + part.len() > LONGEST => {
                    let mut long = Long::default();
                    long.add(&mem::take(&mut self.line));
                    long.add(part);
                    self.long = Some(long);
                }
                None => self.line.extend_from_slice(part),
            }
            let consumed = part.len() + usize::from(end.is_some());
            self.stream.consume(consumed);
            if end.is_some()
                && let Some(line) = self.end_line()
            {
                return Ok(Some(line));
            }
        }
    }

    /// Whether the line may end here if silence follows.
    fn may_end(&self) -> bool {
        let is_between = self.open.as_ref();
        let is_between = is_between.is_some_and(|open| open.length == self.line.len());
        is_between || is_whole(&self.line)
    }

    fn end(&mut self) -> Line {
        self.looked_at = 0;
        self.open = None;
        let line = mem::take(&mut self.line);
        let long = self.long.take().map(Line::Long);
        long.unwrap_or(Line::Whole(line))
    }

    /// The line that has ended, unless more of its object may follow.
    fn end_line(&mut self) -> Option<Line> {
        if self.long.is_some() {
            return Some(self.end());
        }
        let Some(open) = &mut self.open else {
            if !is_beginning(&self.line) {
                return Some(self.end());
            }
            let mut scan = Scan::default();
            scan.feed(&self.line);
            self.line.push(b'\n');
            let length = self.line.len();
            self.open = Some(Open { scan, length });
            return None;
        };
        let last = &self.line[open.length..];
        if is_message(last) {
            // It does not belong to the lines before it.
            let last = self.line.split_off(open.length);
            self.next = Some(last);
            return Some(self.end());
        }
        open.scan.feed(last);
        if open.scan.is_over() {
            return Some(self.end());
        }
        self.line.push(b'\n');
        open.length = self.line.len();
        None
    }
}

/// Whether a line begins an object and does not end it.
fn is_beginning(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if !line.starts_with(b"{") && !line.starts_with(b"[") || line.ends_with(b"}") {
        return false;
    }
    let json = serde_json::from_slice::<IgnoredAny>(line);
    json.is_err_and(|error| error.is_eof())
}

/// Whether a line is a complete message.
fn is_message(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"{")
        && line.ends_with(b"}")
        && str::from_utf8(line).is_ok_and(|line| line.contains("\"jsonrpc\""))
        && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncWriteExt, BufReader, duplex};

    #[tokio::test(start_paused = true)]
    async fn an_object_that_is_complete_needs_no_end_of_its_line_if_silence_follows() {
        for (text, is_taken) in [
            (r#"{"id":1,"result":{}}"#, true),
            ("INFO {\"id\":1}\r", true),
            (r#"{"id":1}{"id":2}"#, true),
            (r#"{"id":1,"result":{"#, false),
            (r#"[{"id":1}]"#, true),
            (r#"{"id":1} and more"#, true),
            ("{\"id\":1}{", false),
            ("12", false),
            ("no json}", false),
        ] {
            let (mut server, stream) = duplex(1024);
            let mut lines = Lines::new(BufReader::new(stream));
            server.write_all(text.as_bytes()).await.unwrap();
            let taken = timeout(Duration::from_secs(60), lines.next()).await;
            assert_eq!(taken.is_ok(), is_taken, "{text}");
            // Later input is not lost.
            server.write_all(b"later\n").await.unwrap();
            let Ok(Some(Line::Whole(line))) = lines.next().await else {
                panic!("no line after {text}");
            };
            let expected = if is_taken {
                "later".to_owned()
            } else {
                format!("{text}later")
            };
            assert_eq!(line, expected.as_bytes(), "{text}");
        }
    }

    async fn all(text: &str) -> Vec<String> {
        let mut lines = Lines::new(BufReader::new(text.as_bytes()));
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            let (Line::Whole(line) | Line::Last(line)) = line else {
                panic!("{line:?}");
            };
            all.push(String::from_utf8(line).unwrap());
        }
        all
    }

    #[tokio::test]
    async fn an_object_over_several_lines_is_one_line() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        for (text, expected) in [
            (
                "{\n  \"id\": 1\n}\nnext",
                &["{\n  \"id\": 1\n}", "next"][..],
            ),
            ("{\r\n\"a\":{\r\n}\r\n}\r\n", &["{\r\n\"a\":{\r\n}\r\n}\r"]),
            ("[\n{\n},\n{\n}\n]\n", &["[\n{\n},", "{\n}", "]"]),
            // A text that only looks like the beginning of an object hides no message.
            (
                &format!("{{ starting\n{message}\n"),
                &["{ starting", message],
            ),
            (&format!("{{\"a\":\n{message}\n"), &["{\"a\":\n", message]),
            (
                &format!("{{\"a\": \"b\nno\n{message}\nnext"),
                &["{\"a\": \"b\nno\n", message, "next"],
            ),
            ("[info] no\n{}\n", &["[info] no", "{}"]),
            ("{\"a\":\n1", &["{\"a\":\n1"]),
        ] {
            assert_eq!(all(text).await, expected, "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_beginning_of_an_object_waits_for_no_more_than_silence() {
        let (mut server, stream) = duplex(1024);
        let mut lines = Lines::new(BufReader::new(stream));
        server.write_all(b"{\"a\":\n").await.unwrap();
        let line = timeout(Duration::from_secs(60), lines.next()).await;
        assert!(matches!(line, Ok(Ok(Some(Line::Whole(line)))) if line == b"{\"a\":\n"));
        server.write_all(b"{\"b\": 1").await.unwrap();
        let line = timeout(Duration::from_secs(60), lines.next()).await;
        assert!(line.is_err(), "a line has its end, or is whole");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_and_never_ends_is_told_at_the_end() {
        let text = vec![b'x'; LONGEST + 1];
        let mut lines = Lines::new(BufReader::new(&text[..]));
        let last = lines.next().await;
        assert!(matches!(last, Ok(Some(Line::LastLong(_)))));
        assert!(matches!(lines.next().await, Ok(None)));
    }
}
