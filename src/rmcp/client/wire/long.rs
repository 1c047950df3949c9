use super::{
    asked::Pending,
    read::{Found, broken},
    scan::Scan,
    unreadable::BEGINNING,
};

/// A text that is too long to be kept.
#[derive(Debug, Default)]
pub(in crate::rmcp::client) struct Long {
    beginning: Vec<u8>,
    length: usize,
    scan: Scan,
}

impl Long {
    /// Takes the next part of it.
    pub(in crate::rmcp::client) fn add(&mut self, part: &[u8]) {
        let room = BEGINNING.saturating_sub(self.beginning.len());
        self.beginning
            .extend_from_slice(&part[..part.len().min(room)]);
        self.length += part.len();
        self.scan.feed(part);
    }

    /// The end of the request whose id is in it, if there is one.
    pub(in crate::rmcp::client) fn read(self, pending: &mut impl Pending) -> Found {
        let asked = self.scan.id().and_then(|id| pending.take(Some(&id)));
        let beginning = String::from_utf8_lossy(&self.beginning);
        broken(
            "it is longer than 16 MiB",
            &beginning,
            self.length,
            asked.as_ref(),
        )
    }
}
