use super::{LONGEST, Long};
use serde::de::IgnoredAny;
use std::{io, mem, time::Duration};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt},
    time::timeout,
};

/// After how long without a further byte a line without an end is looked at: some servers write none.
const SILENCE: Duration = Duration::from_millis(200);

/// Reads lines of a bounded length. A future that is dropped loses nothing.
#[derive(Debug)]
pub(in crate::rmcp) struct Lines<R> {
    stream: R,
    line: Vec<u8>,
    /// The line that is too long, until its end.
    long: Option<Long>,
    /// How much of the line was found to be no whole message.
    looked_at: usize,
}

#[derive(Debug)]
pub(in crate::rmcp) enum Line {
    Whole(Vec<u8>),
    Long(Long),
    /// What came before the end of the stream, without the end of a line.
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
        }
    }

    /// The next line, without its end; none at the end of the stream.
    pub(in crate::rmcp) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let is_open = !self.line.is_empty() && self.looked_at < self.line.len();
            let chunk = if is_open {
                match timeout(SILENCE, self.stream.fill_buf()).await {
                    Ok(chunk) => chunk?,
                    Err(_) if is_whole(&self.line) => {
                        self.looked_at = 0;
                        return Ok(Some(Line::Whole(mem::take(&mut self.line))));
                    }
                    Err(_) => {
                        self.looked_at = self.line.len();
                        continue;
                    }
                }
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
            if end.is_some() {
                let line = mem::take(&mut self.line);
                self.looked_at = 0;
                let long = self.long.take().map(Line::Long);
                return Ok(Some(long.unwrap_or(Line::Whole(line))));
            }
        }
    }
}

/// Whether a line needs no more bytes: from its first object on it is JSON that is complete.
fn is_whole(line: &[u8]) -> bool {
    if !line.trim_ascii_end().ends_with(b"}") {
        return false;
    }
    let Some(begin) = line.iter().position(|byte| *byte == b'{') else {
        return false;
    };
    let objects = serde_json::Deserializer::from_slice(&line[begin..]).into_iter::<IgnoredAny>();
    objects.into_iter().all(|object| object.is_ok())
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
            ("{\"id\":1}{", false),
            ("12", false),
            ("no json}", false),
        ] {
            let (mut server, stream) = duplex(1024);
            let mut lines = Lines::new(BufReader::new(stream));
            server.write_all(text.as_bytes()).await.unwrap();
            let taken = timeout(Duration::from_secs(60), lines.next()).await;
            assert_eq!(taken.is_ok(), is_taken, "{text}");
            // What comes later is not lost.
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

    #[tokio::test]
    async fn a_line_that_is_too_long_and_never_ends_is_told_at_the_end() {
        let text = vec![b'x'; LONGEST + 1];
        let mut lines = Lines::new(BufReader::new(&text[..]));
        let last = lines.next().await;
        assert!(matches!(last, Ok(Some(Line::LastLong(_)))));
        assert!(matches!(lines.next().await, Ok(None)));
    }
}
