use serde::de::IgnoredAny;

/// Whether a text may end here: it has an object, and all objects in it are complete. Text around
/// them does not matter.
pub(in crate::rmcp) fn is_whole(text: &[u8]) -> bool {
    if text.starts_with(b"\"") {
        return serde_json::from_slice::<String>(text).is_ok();
    }
    let begin = |text: &[u8]| text.iter().position(|byte| *byte == b'{');
    let Some(mut at) = begin(text) else {
        return false;
    };
    loop {
        let mut objects =
            serde_json::Deserializer::from_slice(&text[at..]).into_iter::<IgnoredAny>();
        if objects.next().is_none_or(|object| object.is_err()) {
            return false;
        }
        at += objects.byte_offset();
        match begin(&text[at..]) {
            Some(next) => at += next,
            None => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_whole_when_all_of_its_objects_are() {
        for (text, expected) in [
            (r#"{"a":1}"#, true),
            (r#"[{"a":1}]"#, true),
            (r#"[{"a":1},"#, true),
            (r#"INFO {"a":1} and more"#, true),
            (r#"{"a":1}{"b":{}}"#, true),
            (r#""{\"a\":1}""#, true),
            (r#"{"a":1"#, false),
            (r#"{"a":"}"#, false),
            (r#"{"a":1}{"#, false),
            (r#"{a}{"a":1}"#, false),
            (r#""{\"a\":1}"#, false),
            ("12", false),
            ("", false),
        ] {
            assert_eq!(is_whole(text.as_bytes()), expected, "{text}");
        }
    }
}
