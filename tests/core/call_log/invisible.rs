//! Invisible characters.

use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{
    Failure, call::ToolResult, call_log::CallLogLayer, classify::ClassifyLayer,
    is_error::IsErrorLayer,
};
use serde_json::json;
use tower::{BoxError, ServiceBuilder, ServiceExt};

const INVISIBLE: &[&str] = &[
    "\u{200b}",
    "\u{200c}",
    "\u{200d}",
    "\u{2060}",
    "\u{feff}",
    "\u{ad}",
    "\u{180e}",
    "\u{fe0f}",
    "\u{e0001}\u{e0041}\u{e007f}",
    "\u{e0100}",
    "\u{2063}",
    "\u{202e}",
    "\u{3164}",
    "\u{34f}",
    "\0",
];

async fn answered(step: Result<Answer, BoxError>, call: Call) -> (Answer, String) {
    let lines = Lines::default();
    let tools = ServiceBuilder::new()
        .layer(CallLogLayer::new(lines.clone()))
        .layer(IsErrorLayer::new())
        .layer(ClassifyLayer::new())
        .service(Script::new([step]));
    let answer = tools.oneshot(call).await.unwrap();
    lines.only();
    (answer, lines.texts().remove(0))
}

#[tokio::test]
async fn a_message_of_invisible_characters_counts_as_empty() {
    for text in INVISIBLE {
        let text = format!(" {text}\n{text}");
        let failure = Failure::tool(text.clone());
        assert_eq!(failure.message(), None, "{text:?}");
        assert_eq!(
            failure.to_string(),
            Failure::tool("").to_string(),
            "{text:?}"
        );
        let (answer, _) = answered(Err(failure.into()), Call::tool("t")).await;
        assert!(
            !answer.text().contains(&text) && answer.text().len() > 25,
            "{answer:?}"
        );
        assert!(ToolResult::is_empty(&Answer::flagged(&text)), "{text:?}");
        let own = Failure::crash(text.clone());
        assert_eq!(own.chain().to_string(), "failed unexpectedly", "{text:?}");
    }
}

#[tokio::test]
async fn invisible_characters_are_escaped_as_json_in_lines_and_by_code_point_in_texts() {
    for text in INVISIBLE.iter().filter(|text| **text != "\0") {
        let shown = format!("a{text}b");
        let call = Call::tool(&shown).arguments(json!({"a": shown}));
        let failure = Failure::tool(shown.clone());
        let (answer, line) = answered(Err(failure.into()), call).await;
        for c in text.chars() {
            assert!(!line.contains(c), "{line}");
            assert!(!answer.text().contains(c), "{answer:?}");
            let number = format!("\\u{{{:x}}}", u32::from(c));
            assert!(answer.text().contains(&number), "{answer:?}");
        }
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["arguments"]["a"], *shown);
    }
}

#[tokio::test]
async fn emoji_and_scripts_with_joiners_stay_readable() {
    for text in ["👩\u{200d}🚀", "❤\u{fe0f}", "می\u{200c}خواهم", "क्\u{200d}ष"] {
        let call = Call::tool("t").arguments(json!({"a": text}));
        let failure = Failure::tool(text);
        let (answer, line) = answered(Err(failure.into()), call).await;
        assert!(line.contains(&format!("{{\"a\":\"{text}\"}}")), "{line}");
        assert!(answer.text().contains(text), "{answer:?}");
    }
    // A row of selectors hides a message behind one sign.
    let (answer, _) = answered(
        Err(Failure::tool("❤\u{fe0f}\u{fe0f}").into()),
        Call::tool("t"),
    )
    .await;
    assert!(answer.text().contains("❤\u{fe0f}\\u{fe0f}"), "{answer:?}");
}
