//! Hidden characters are escaped.

use super::{answer_to, search};
use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{Failure, ResilienceLayer, call_log::CallLogLayer};
use serde_json::json;
use tower::{Layer, ServiceExt};

/// Every character with Unicode's `Bidi_Control`, and two line separators that are not control
/// characters.
const HIDDEN: [char; 14] = [
    '\u{061c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}',
    '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}', '\u{2028}', '\u{2029}',
];

#[tokio::test]
async fn marks_that_turn_the_direction_of_text_reach_no_model() {
    for mark in HIDDEN {
        let spelled = format!("\\u{{{:x}}}", u32::from(mark));
        let name = format!("pay{mark}x");
        let failure = Failure::tool(format!("sent to {mark}ecila"));
        let failure = failure.instead(format!("book{mark}y"));
        let answer = answer_to(Call::tool(&name), failure).await;
        let text = format!(
            "Error executing tool pay{spelled}x: sent to {spelled}ecila. Use the tool book{spelled}y instead."
        );
        assert_eq!(answer.text(), text);
        let envelope = answer.structured.unwrap();
        assert_eq!(envelope["error"], format!("sent to {spelled}ecila"));

        let failure = Failure::invalid_input(format!("a{mark}b"), "too long");
        let answer = answer_to(search(), failure).await;
        assert!(!answer.text().contains(mark), "{:?}", answer.text());
    }
}

#[tokio::test(start_paused = true)]
async fn hidden_characters_are_escaped_in_the_log_and_restored_by_a_parser() {
    for mark in HIDDEN {
        let lines = Lines::default();
        let log = CallLogLayer::new(lines.clone());
        let layer = ResilienceLayer::builder().log(log).build().unwrap();
        let text = format!("a{mark}b");
        let failure = Failure::tool(text.clone()).with_code(text.clone());
        let mut call = Call::tool(&text).arguments(json!({&text: text}));
        call.session_id = Some(text.clone());
        call.request_id = Some(json!(text));
        let stack = layer.layer(Script::new([Err(failure.into())]));
        let _: Answer = stack.oneshot(call).await.unwrap();

        assert!(!lines.texts()[0].contains(mark), "{}", lines.texts()[0]);
        let line = lines.only();
        for key in ["tool", "error", "code", "session_id", "request_id"] {
            assert_eq!(line[key], text, "{key}");
        }
        assert_eq!(line["arguments"], json!({&text: text}));
    }
}
