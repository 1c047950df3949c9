/// At most the first `limit` bytes of a text, in whole characters.
pub(crate) fn first(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
