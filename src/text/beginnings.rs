//! A fast check that rules out most words by their first three characters. The caller compares the
//! remaining ones.

/// A set of the first two characters of names, and of their second and third ones.
pub(super) struct Beginnings {
    firsts: Pairs,
    nexts: Pairs,
}

/// For each character, a bit for each one that may follow.
#[derive(Clone, Copy)]
struct Pairs([[u64; 2]; 128]);

impl Beginnings {
    pub(super) const NONE: Self = Self {
        firsts: Pairs::NONE,
        nexts: Pairs::NONE,
    };

    /// Adds a name. It must be ASCII, with at least two characters.
    pub(super) const fn with(mut self, name: &str) -> Self {
        let name = name.as_bytes();
        self.firsts = self.firsts.with(name[0], name[1]);
        if name.len() > 2 {
            self.nexts = self.nexts.with(name[1], name[2]);
        } else {
            self.nexts.0[name[1] as usize] = [u64::MAX; 2];
        }
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

    /// Adds all names of another set, in lower case.
    pub(super) const fn with_small(self, other: &Self) -> Self {
        Self {
            firsts: self.firsts.with_small(&other.firsts),
            nexts: self.nexts.with_small(&other.nexts),
        }
    }

    /// Whether the text may begin with one of the names. False for a text of fewer than three bytes.
    #[inline]
    pub(super) fn may_begin(&self, text: &[u8]) -> bool {
        matches!(*text, [first, second, third, ..]
            if self.firsts.has(first, second) && self.nexts.has(second, third))
    }

    /// Like [`may_begin`](Self::may_begin), but ignores case. The names must have no upper-case letters.
    #[inline]
    pub(super) fn may_begin_in_any_case(&self, text: &[u8]) -> bool {
        matches!(*text, [first, second, third, ..]
            if self.firsts.has(first | 0x20, second | 0x20)
                && self.nexts.has(second | 0x20, third | 0x20))
    }

    /// Whether a name may begin with these two characters.
    #[inline]
    pub(super) const fn has(&self, first: u8, second: u8) -> bool {
        self.firsts.has(first, second)
    }
}

impl Pairs {
    const NONE: Self = Self([[0; 2]; 128]);

    const fn with(mut self, first: u8, second: u8) -> Self {
        self.0[first as usize][(second >> 6) as usize] |= 1 << (second & 63);
        self
    }

    const fn with_small(mut self, other: &Self) -> Self {
        let mut first = 0;
        while first < 128 {
            let mut second = 0;
            while second < 128 {
                if other.has(first, second) {
                    self = self.with(first | 0x20, second | 0x20);
                }
                second += 1;
            }
            first += 1;
        }
        self
    }

    /// May be true for characters beyond ASCII.
    #[inline]
    const fn has(&self, first: u8, second: u8) -> bool {
        let seconds = self.0[(first & 127) as usize][(second >> 6 & 1) as usize];
        seconds >> (second & 63) & 1 == 1
    }
}
