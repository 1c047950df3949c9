use crate::text::{self, MESSAGE_LIMIT, escaped, is_blank};
use std::{
    error::Error,
    fmt::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
};

/// An error and its sources on one line: `cannot read prices: permission denied`.
///
/// Masked, escaped, and cut after 4 KiB, so that it can be put into an event.
pub(crate) struct Chain<'a>(pub(crate) &'a (dyn Error + 'static));

impl<'a> Chain<'a> {
    /// The error and its sources, outermost first.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
        std::iter::successors(Some(self.0), |&error| {
            // An `io::Error` that was made from another error does not return that as its source.
            match error.downcast_ref::<std::io::Error>() {
                Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
                None => error.source(),
            }
        })
        // A chain of sources may be very long, or endless.
        .take(32)
    }

    /// The masked texts. For a writer that escapes and cuts them.
    pub(crate) fn redacted(&self) -> String {
        text::joined(self.texts())
    }

    /// Whether the texts contain nothing to mask.
    pub(crate) fn is_without_secrets(&self) -> bool {
        self.texts().all(|text| text::redacted(&text) == *text)
    }

    fn texts(&self) -> impl Iterator<Item = String> {
        let mut last = String::new();
        self.errors().filter_map(move |error| {
            let text = text_of(error);
            // Some errors show their source as themselves (`transparent`): show it once.
            if is_blank(&text) || text == last {
                return None;
            }
            last.clone_from(&text);
            Some(text)
        })
    }
}

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&self.redacted(), MESSAGE_LIMIT, &[]))
    }
}

/// The text of an error. If `Display` fails or panics, what it wrote so far.
fn text_of(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    let shown = catch_unwind(AssertUnwindSafe(|| write!(text, "{error}")));
    if shown.is_err() {
        text.push_str("an error that cannot be shown");
    }
    text
}
