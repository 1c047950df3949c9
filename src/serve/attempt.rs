/// The number of the current attempt of a call, for a handler: 1 for the first.
///
/// It is in the extensions of the request's context. In a `#[tool]` function, it is an argument of
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
