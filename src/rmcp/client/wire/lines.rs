use super::{LONGEST, long::Long};
use std::{io, mem};
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Reads lines of a bounded length. A future that is dropped loses nothing.
#[derive(Debug)]
pub(super) struct Lines<R> {
    stream: R,
    line: Vec<u8>,
    /// The line that is too long, until its end.
    long: Option<Long>,
}

#[derive(Debug)]
pub(super) enum Line {
    Whole(Vec<u8>),
    Long(Long),
    /// What came before the end of the stream, without the end of a line.
    Last(Vec<u8>),
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn new(stream: R) -> Self {
        Self {
            stream,
            line: Vec::new(),
            long: None,
        }
    }

    /// The next line, without its end; none at the end of the stream.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let chunk = self.stream.fill_buf().await?;
            if chunk.is_empty() {
                self.long = None;
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
                let long = self.long.take().map(Line::Long);
                return Ok(Some(long.unwrap_or(Line::Whole(line))));
            }
        }
    }
}
