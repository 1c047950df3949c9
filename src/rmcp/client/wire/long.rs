use super::{
    asked::Pending,
    read::{Found, broken},
    scan::Scan,
    unreadable::{BEGINNING, Unreadable},
};
use serde_json::Value;

/// How many ids are looked for.
const IDS: usize = 1024;

/// A text that is too long to be kept.
#[derive(Debug, Default)]
pub(in crate::rmcp::client) struct Long {
    beginning: Vec<u8>,
    length: usize,
    scan: Scan,
    ids: Vec<Value>,
}

impl Long {
    /// Takes the next part of it.
    pub(in crate::rmcp::client) fn add(&mut self, mut part: &[u8]) {
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
        let id = std::mem::take(&mut self.scan).into_id();
        self.ids.extend(id.filter(|_| self.ids.len() < IDS));
    }

    /// The ends of the requests whose ids are in it; if there are none, that it is no message.
    pub(in crate::rmcp::client) fn read(mut self, pending: &mut impl Pending) -> Vec<Found> {
        self.end_object();
        let unreadable = self.unreadable("it is longer than 16 MiB");
        let asked = self.ids.iter().filter_map(|id| pending.take(Some(id)));
        let found: Vec<_> = asked
            .map(|asked| broken(unreadable.clone(), &asked))
            .collect();
        if found.is_empty() {
            return vec![Found::Unreadable(unreadable)];
        }
        found
    }

    /// What it is if its end never came.
    pub(super) fn cut_off(&self) -> Unreadable {
        self.unreadable("it was cut off by the end of the stream")
    }

    fn unreadable(&self, reason: &str) -> Unreadable {
        let beginning = String::from_utf8_lossy(&self.beginning);
        Unreadable::of_length(reason, &beginning, self.length)
    }
}
