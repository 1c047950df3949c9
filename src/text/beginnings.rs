//! A fast check that rules out most words by their first two characters.

/// A set of the first two characters of names.
pub(super) struct Beginnings {
    /// For each first character, a bit for each second one.
    seconds: [u128; 128],
}

impl Beginnings {
    pub(super) const NONE: Self = Self { seconds: [0; 128] };

    /// Adds a name. It must be ASCII, with at least two characters.
    pub(super) const fn with(mut self, name: &str) -> Self {
        let name = name.as_bytes();
        self.seconds[name[0] as usize] |= 1 << name[1];
        self
    }

    /// Adds the second and third character of a name. It must be ASCII, with at least three
    /// characters.
    pub(super) const fn with_next(mut self, name: &str) -> Self {
        let name = name.as_bytes();
        self.seconds[name[1] as usize] |= 1 << name[2];
        self
    }

    /// Adds all of these names.
    pub(super) const fn with_all(mut self, names: &[&str]) -> Self {
        let mut at = 0;
        while at < names.len() {
            self = self.with(names[at]);
            at += 1;
        }
        self
    }

    /// Whether the text may begin with one of the names.
    pub(super) fn may_begin(&self, text: &[u8]) -> bool {
        matches!(text, [first, second, ..] if self.has(*first, *second))
    }

    /// Like [`may_begin`](Self::may_begin), but ignores case. The names must have only lower-case
    /// letters and spaces.
    pub(super) fn may_begin_in_any_case(&self, text: &[u8]) -> bool {
        matches!(text, [first, second, ..] if self.has(first | 0x20, second | 0x20))
    }

    pub(super) fn has(&self, first: u8, second: u8) -> bool {
        let seconds = self.seconds.get(usize::from(first));
        seconds.is_some_and(|seconds| second < 128 && seconds >> second & 1 == 1)
    }
}
