use super::{
    Unreadable,
    scan::{Head, Scan},
    unreadable::BEGINNING,
};

/// How many messages in it are examined.
const HEADS: usize = 1024;

/// A text that is too long to be kept.
#[derive(Debug, Default)]
pub(in crate::rmcp) struct Long {
    beginning: Vec<u8>,
    length: usize,
    scan: Scan,
    heads: Vec<Head>,
}

impl Long {
    /// Takes the next part of it.
    pub(in crate::rmcp) fn add(&mut self, mut part: &[u8]) {
        let room = BEGINNING.saturating_sub(self.beginning.len());
        self.beginning
            .extend_from_slice(&part[..part.len().min(room)]);
        self.length += part.len();
        while !part.is_empty() {
            part = &part[self.scan.feed(part)..];
            if self.scan.is_over() {
                self.end_object();
            }
        }
    }

    fn end_object(&mut self) {
        let head = std::mem::take(&mut self.scan).into_head();
        if self.heads.len() < HEADS {
            self.heads.push(head);
        }
    }

    /// What is known about its messages at the end.
    pub(in crate::rmcp) fn heads(&mut self) -> Vec<Head> {
        self.end_object();
        std::mem::take(&mut self.heads)
    }

    /// What it is as a whole.
    pub(in crate::rmcp) fn too_long(&self) -> Unreadable {
        self.unreadable("it is longer than 16 MiB")
    }

    /// What it is if its end never came.
    pub(in crate::rmcp) fn cut_off(&self) -> Unreadable {
        self.unreadable("it was cut off by the end of the stream")
    }

    fn unreadable(&self, reason: &str) -> Unreadable {
        let beginning = String::from_utf8_lossy(&self.beginning);
        Unreadable::of_length(reason, &beginning, self.length)
    }
}
