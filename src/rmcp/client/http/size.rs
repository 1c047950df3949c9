use std::io;

/// The longest event that is read: as rmcp's own client does it.
const LONGEST: usize = 16 * 1024 * 1024;

/// How long the event is that is coming in, whichever way its lines end.
#[derive(Debug, Default)]
pub(super) struct Size {
    event: usize,
    line: usize,
    was_return: bool,
}

impl Size {
    /// Adds what came.
    ///
    /// # Errors
    ///
    /// When the event is too long.
    pub(super) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            let was_return = std::mem::replace(&mut self.was_return, *byte == b'\r');
            match byte {
                // The second half of the end of a line.
                b'\n' if was_return => {}
                b'\n' | b'\r' if self.line == 0 => self.event = 0,
                b'\n' | b'\r' => self.line = 0,
                _ => {
                    self.line += 1;
                    self.event += 1;
                }
            }
            if self.event > LONGEST {
                return Err(io::Error::other("an event is longer than 16 MiB"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_for_one_event_whichever_way_its_lines_end() {
        let megabyte = "x".repeat(1024 * 1024);
        for end in ["\n", "\r\n", "\r"] {
            let mut size = Size::default();
            let event = format!("data: {megabyte}{end}id: 1{end}{end}");
            for _ in 0..20 {
                size.add(event.as_bytes())
                    .unwrap_or_else(|_| panic!("{end:?}: many events"));
            }
            let line = format!("data: {megabyte}{end}");
            let mut lines = std::iter::repeat_n(line, 20);
            assert!(
                lines.any(|line| size.add(line.as_bytes()).is_err()),
                "{end:?}: one event"
            );
        }
    }
}
