use std::{
    error::Error,
    fmt::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
};

/// An error and its sources on one line: `cannot read prices: permission denied`.
pub(crate) struct Chain<'a>(pub(crate) &'a (dyn Error + 'static));

impl<'a> Chain<'a> {
    /// The error itself, then what it holds, outermost first.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
        std::iter::successors(Some(self.0), |&error| {
            // An `io::Error` made from another error leaves that one out of its sources.
            match error.downcast_ref::<std::io::Error>() {
                Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
                None => error.source(),
            }
        })
        // A chain of sources may be made longer than anybody reads; one that ends in itself is
        // possible too.
        .take(32)
    }
}

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = String::new();
        for error in self.errors() {
            let text = text_of(error);
            // Some errors show their source as themselves (`transparent`): once is enough.
            if text.trim().is_empty() || text == last {
                continue;
            }
            if !last.is_empty() {
                f.write_str(": ")?;
            }
            f.write_str(&text)?;
            last = text;
        }
        Ok(())
    }
}

/// What an error says; whatever it manages to say, if showing it fails or panics.
fn text_of(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    let shown = catch_unwind(AssertUnwindSafe(|| write!(text, "{error}")));
    if shown.is_err() {
        text.push_str("an error that cannot be shown");
    }
    text
}
