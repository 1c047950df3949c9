/// A W3C `traceparent`: `00-TRACE-SPAN-FLAGS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceParent<'a> {
    pub(crate) trace_id: &'a str,
    #[cfg_attr(
        not(feature = "otel"),
        allow(dead_code, reason = "only a span has a parent")
    )]
    pub(crate) span_id: &'a str,
    #[cfg_attr(
        not(feature = "otel"),
        allow(dead_code, reason = "only a span is sampled")
    )]
    pub(crate) is_sampled: bool,
}

/// The length of version 00. Later versions may be longer.
const LENGTH: usize = 55;

impl<'a> TraceParent<'a> {
    /// Reads one by the W3C's rules (Trace Context, section 3.2). None for one that has to be ignored.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (fields, rest) = text.split_at_checked(LENGTH)?;
        let mut parts = fields.split('-');
        let mut next = |length| parts.next().filter(|part| is_hex(part, length));
        let (version, trace_id) = (next(2)?, next(32)?);
        let (span_id, flags) = (next(16)?, next(2)?);
        let is_read = match version {
            "ff" => false,
            "00" => rest.is_empty(),
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        let is_set = |id: &str| id.bytes().any(|byte| byte != b'0');
        let flags = u8::from_str_radix(flags, 16).ok()?;
        (is_read && is_set(trace_id) && is_set(span_id)).then_some(Self {
            trace_id,
            span_id,
            is_sampled: flags & 1 == 1,
        })
    }
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn it_is_read_by_the_rules_of_the_w3c() {
        let read = |text: &str| TraceParent::parse(text).map(|parent| parent.is_sampled);
        for (text, expected) in [
            (format!("00-{TRACE}-{SPAN}-01"), Some(true)),
            (format!("00-{TRACE}-{SPAN}-00"), Some(false)),
            (format!("00-{TRACE}-{SPAN}-ff"), Some(true)),
            (format!("cc-{TRACE}-{SPAN}-01"), Some(true)),
            (format!("cc-{TRACE}-{SPAN}-01-what-ever"), Some(true)),
            (format!("cc-{TRACE}-{SPAN}-01.what"), None),
            (format!("00-{TRACE}-{SPAN}-01-more"), None),
            (format!("00-{TRACE}-{SPAN}-01-"), None),
            (format!("ff-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
            (format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
            (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            (format!("00-{TRACE}-{SPAN}-0"), None),
            (format!("00-{TRACE}-{SPAN}-+1"), None),
            (format!(" 00-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}-{SPAN}0-01", &TRACE[1..]), None),
            ("é".repeat(30), None),
            (String::new(), None),
        ] {
            assert_eq!(read(&text), expected, "{text}");
        }
    }
}
