/// Which attempt of a call this is, for a handler that wants to know: 1 for the first.
///
/// It stands in the request context's extensions; in a `#[tool]` function it is an argument of
/// the type `Extension<Attempt>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt(u32);

impl Attempt {
    pub(crate) fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}
