//! Answers of odd form, on each wire.

use super::{connect_within, make};
use crate::peer::{
    Log, SECOND,
    answered::{
        ALL, End,
        End::{FailedWith, Good, ToolError, Unreadable},
        RESULT, answer, assert_each, result,
    },
};
use mcp_resilience::rmcp::client::ChildProcess;
use serde_json::json;

const ERROR: &str =
    r#""error":{"code":-32004,"message":"Too many requests. Please try again later."}"#;

/// An error of the server's, with its code and its text.
const TOLD: End = FailedWith(-32004, "Too many requests. Please try again later.");

#[tokio::test]
async fn case_105_a_null_error_beside_a_result_is_no_error() {
    let before = format!(r#""error":null,{RESULT}"#);
    let after = format!(r#"{RESULT},"error":null"#);
    for tool in ["look", "book"] {
        let cases = [&before, &after].map(|members| (answer(members), ALL, Good("good")));
        assert_each(tool, cases).await;
    }
}

#[tokio::test]
async fn case_106_an_error_beside_a_result_is_never_a_success() {
    let unreadable = Unreadable("both a result and an error");
    let cases = [
        (format!(r#""result":null,{ERROR}"#), TOLD),
        (format!(r#"{ERROR},"result":null"#), TOLD),
        (format!(r#"{ERROR},"result":{{}}"#), TOLD),
        (format!("{RESULT},{ERROR}"), unreadable),
        (format!("{ERROR},{RESULT}"), unreadable),
    ];
    let cases = cases.map(|(members, end)| (answer(&members), ALL, end));
    assert_each("look", cases).await;
}

#[tokio::test]
async fn case_110_bytes_that_are_no_utf_8_are_read_with_replacement_characters() {
    let text = answer(RESULT).replace("good", "go$BYTESod");
    assert_each("book", [(text, ALL, Good("go\u{fffd}\u{fffd}od"))]).await;
}

/// A server that writes a million bytes of invalid text without a line end before each answer.
const LOUD: &str = r#"
noise() { head -c 1000000 /dev/zero | tr '\0' '\377' >&2; }
while read -r line; do
    id=${line#*'"id":'} id=${id%%[,\}]*}
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"loud","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"book","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"good"}]}' ;;
    *) continue ;;
    esac
    noise
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[tokio::test]
async fn case_111_a_stderr_that_is_loud_and_no_text_holds_no_answer_up() {
    let log = Log::default();
    let loud = ChildProcess::new("sh").args(["-c", LOUD]);
    let client = connect_within(loud.start_timeout(120 * SECOND), &log, 120).await;
    for _ in 0..3 {
        let (is_error, _) = make(&client, "book", &json!(null)).await;
        assert!(!is_error, "{:?}", log.lines());
    }
    assert_eq!(client.handle().generation(), 1);
    client.close().await;
}

#[tokio::test]
async fn case_113_an_id_that_comes_back_as_a_text_or_a_float_is_the_same_id() {
    let good = answer(RESULT);
    let ids = [r#""$ID""#, "$ID.0", "$IDe0"];
    let cases = ids.map(|id| (good.replace("$ID", id), ALL, Good("good")));
    assert_each("book", cases).await;
}

#[tokio::test]
async fn case_114_of_a_result_with_an_unreadable_part_the_rest_is_shown_or_that_it_has_run() {
    let link = r#"{"type":"resource_link","uri":"ui://x","mimeType":"text/html"}"#;
    let beside =
        |block: &str| format!(r#"{{"content":[{{"type":"text","text":"booked"}},{block}]}}"#);
    let cases = [
        (beside(link), Good("booked")),
        (beside(link), Good("missing field `name`")),
        (beside(r#"{"type":"video"}"#), Good("booked")),
        (
            beside(r#"{"type":"video","data":"x"}"#),
            Good("a block of the type `video` was left out"),
        ),
        (beside(r#"{"type":"text","text":null}"#), Good("booked")),
        (beside(r#"{"type":"text","text":null}"#), Good("left out")),
        (r#"{"content":"booked"}"#.to_owned(), Good("booked")),
        (
            r#"{"content":[{"type":"text","text":null}]}"#.to_owned(),
            Unreadable("nothing of its result"),
        ),
        (
            r#"{"content":[{"type":"text","text":"full"}],"isError":"true"}"#.to_owned(),
            ToolError,
        ),
    ];
    let cases = cases.map(|(text, end)| (result(&text), ALL, end));
    assert_each("book", cases).await;
}
