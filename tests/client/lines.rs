//! The messages that are found in the lines of a server, in each form.

#[path = "../rmcp/support/traced.rs"]
mod traced;

use mcp_resilience::rmcp::client::line_transport;
use rmcp::{
    RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest,
        JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification, ServerRequest,
    },
    transport::Transport,
};
use std::io::Cursor;
use tokio::io::sink;
use traced::Traced;

/// The most requests and notifications that are read in one line.
const MESSAGES: usize = 4096;

/// The messages in a text, while calls with these ids wait.
async fn read(text: &str, ids: &[i64]) -> Vec<ServerJsonRpcMessage> {
    let mut transport = line_transport(Cursor::new(text.to_owned()), sink());
    for id in ids {
        let params = CallToolRequestParams::new("look");
        let call = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let call = ClientJsonRpcMessage::request(call, RequestId::Number(*id));
        Transport::<RoleClient>::send(&mut transport, call)
            .await
            .unwrap();
    }
    let mut messages = Vec::new();
    while let Some(message) = transport.receive().await {
        messages.push(message);
    }
    messages
}

/// The messages in a line: `+1` for a good answer to 1, `-1` for an unreadable one, `m` for others.
async fn found(line: &str) -> String {
    let found = read(&format!("{line}\n"), &[1, 2, 3]).await;
    let found = found.into_iter().map(|message| match message {
        JsonRpcMessage::Response(response) => format!("+{}", response.id),
        JsonRpcMessage::Error(error) => format!("-{}", error.id.unwrap()),
        _ => "m".to_owned(),
    });
    found.collect::<Vec<_>>().join(" ")
}

fn is_answer(message: &ServerJsonRpcMessage) -> bool {
    matches!(
        message,
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
    )
}

#[tokio::test]
async fn one_broken_message_hides_no_other() {
    let good = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#;
    for (text, expected) in [
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":NaN}}}}{good}"#),
            "-1 +2",
        ),
        (
            format!(r#"[{{"jsonrpc":"2.0","id":1,"result":{{"x":NaN}}}},{good}]"#),
            "-1 +2",
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"un"quoted"}}}}{good}"#),
            "-1 +2",
        ),
        (format!("[1,2] {{{{{{ {good}"), "+2"),
        (
            r#"{"id":1,"result":{"x":NaN}} {"id":3,"result":{"x":NaN}}"#.to_owned(),
            "-1 -3",
        ),
        (
            format!(r#"{{"id":1,"result":{{"x":NaN}}}}{{"id":77,"result":{{}}}}{good}"#),
            "-1 +2",
        ),
        // The id of an object inside of one is not its own.
        (
            r#"{"level":"info","at":NaN,"request":{"id":1,"result":{"content":[]}}}"#.to_owned(),
            "",
        ),
    ] {
        assert_eq!(found(&text).await, expected, "{text}");
    }
}

#[tokio::test]
async fn an_id_that_no_request_has_ends_the_only_one_that_waits() {
    for text in [
        r#"{"jsonrpc":"2.0","id":true,"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":{},"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":[1,2],"error":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":true,"result":{"x":NaN}}"#,
    ] {
        let only = read(&format!("{text}\n"), &[1]).await;
        let is_its = matches!(&only[..], [JsonRpcMessage::Error(_)]);
        assert!(is_its, "{text}: {only:?}");
        // With several waiting calls, it is unknown which one it answers.
        assert_eq!(found(text).await, "", "{text}");
    }
    // A log line and an answer without an id belong to no call.
    for text in [
        r#"{"id":true,"result":"ok"}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
    ] {
        let only = read(&format!("{text}\n"), &[1]).await;
        assert!(only.is_empty(), "{text}: {only:?}");
    }
}

#[tokio::test]
async fn a_number_that_is_too_big_hides_no_answer() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"n":1e400}}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"n":-1e400}}}]"#,
    ] {
        assert_eq!(found(text).await, "+1", "{text}");
    }
    let request = r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"n":1e400}}}"#;
    assert_eq!(found(request).await, "m");
    let broken = r#"{"jsonrpc":"2.0","id":1,"result":{"x":1e400,}}"#;
    assert_eq!(found(broken).await, "-1");
}

#[tokio::test]
async fn the_last_line_of_a_stream_is_whole_or_cut_off() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"result":{"x":NaN}}"#, true),
        ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", true),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"res"#,
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","#,
            false,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"x":"}"#, false),
    ] {
        let found = read(text, &[1, 2]).await;
        let answers = found.iter().filter(|message| is_answer(message));
        assert_eq!(answers.count(), usize::from(expected), "{text}: {found:?}");
    }
}

#[tokio::test]
async fn an_answer_in_another_writing_ends_its_call() {
    for (text, expected) in [
        (
            r"{'jsonrpc': '2.0', 'id': 1, 'result': {'content': [], 'isError': False}}",
            "-1",
        ),
        (r"{'jsonrpc': '2.0', 'result': {'id': 9}, 'id': 1}", "-1"),
        (r#"{jsonrpc:"2.0",id:1,error:{code:-1,message:"no"}}"#, "-1"),
        (r"{'jsonrpc': '2.0', 'id': '1', 'result': None}", "-1"),
        (r#"{"jsonrpc":"2.0","ID":1,"Result":{"content":[]}}"#, "+1"),
        (r#"{"Jsonrpc":"2.0","Id":1,"Result":{"Content":[]}}"#, "-1"),
        (
            r#"{"jsonrpc":"2.0","id":1,"ID":"own","result":{"content":[]}}"#,
            "+1",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\ud83d"}]}}"#,
            "+1",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":["good"]}}"#,
            "+1",
        ),
        (
            r#"{'jsonrpc': '2.0', 'id': 9, 'result': {}} {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
            "+1",
        ),
        (
            r#"{dbg} {id: 1} {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
            "+1",
        ),
        // No answers.
        (r"{'id': 1, 'result': 'logged'}", ""),
        (r"{'level': 'info', 'request': {'id': 1}}", ""),
        (r"{'jsonrpc': '2.0', 'method': 'x', 'id': 1}", ""),
    ] {
        assert_eq!(found(text).await, expected, "{text}");
    }
}

#[tokio::test]
async fn a_blank_that_json_does_not_allow_makes_an_answer_unreadable() {
    for blank in ['\u{a0}', '\u{b}', '\u{c}', '\u{85}', '\u{2028}'] {
        for text in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{blank}{{"content":[]}}}}"#),
            format!(r#"{{"jsonrpc":"2.0",{blank}"id":{blank}1,"result":{{"content":[]}}}}"#),
        ] {
            assert_eq!(found(&text).await, "-1", "{text:?}");
        }
        let around =
            format!(r#"{blank}{{"jsonrpc":"2.0","id":1,"result":{{"content":[]}}}}{blank}"#);
        assert_eq!(found(&around).await, "+1", "{around:?}");
    }
}

#[tokio::test]
async fn a_line_of_a_log_ends_no_call_whatever_members_it_has() {
    for text in [
        r#"{"level":"error","error":"disk full","id":1}"#,
        r#"{"level":"info","result":"ok","id":1}"#,
        r#"{"method":"GET","path":"/x","error":"gone","id":1}"#,
        r#"{"level":"info","error":"x","id":1,"at":NaN}"#,
        r#"{"msg":"id 1","id":1}"#,
        r#"{"level":"info","context":{"id":1,"result":{"content":[]}},"at":"#,
    ] {
        assert_eq!(found(text).await, "", "{text}");
    }
}

#[tokio::test]
async fn a_text_costs_no_more_than_a_few_thousand_messages() {
    for part in [
        "[1,1,1,1]",
        "{}",
        r#"{"id":9,"result":{}}"#,
        "{",
        "[",
        "{\"a",
        "{\"a\":[",
        "x{",
    ] {
        let text = part.repeat(256 * 1024 / part.len());
        assert_eq!(found(&text).await, "", "{part}");
    }
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    // An answer ends its call after any number of other texts.
    let answer = r#"{"id":1,"result":{"content":[]}}"#;
    let text = format!("{}{answer}\n", notification.repeat(MESSAGES + 10));
    let all = read(&text, &[1]).await;
    assert_eq!(all.len(), MESSAGES + 1);
    assert!(all.last().is_some_and(is_answer));
    let many = "1,".repeat(1024 * 1024);
    let many = format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{many}1]}}"#);
    assert_eq!(found(&many).await, "-1");
    let many = "\"a\":0,".repeat(1024);
    let many = format!(r#"{{{many}"jsonrpc":"2.0","id":1,"result":{{"content":[]}}}}"#);
    assert_eq!(found(&many).await, "-1");
}

#[tokio::test]
async fn a_text_is_reported_once_with_the_number_of_its_parts() {
    let traced = Traced::begin();
    assert_eq!(found(&"{}".repeat(10)).await, "");
    let events = traced.end();
    let [event] = &events[..] else {
        panic!("{events:?}");
    };
    let error = event["fields"]["error"].as_str().unwrap();
    assert!(error.ends_with("begins with: {}; and 9 more"), "{error}");
}

#[tokio::test]
async fn messages_of_the_server_are_mended() {
    for text in [
        r#"{"jsonrpc":"2.0","id":null,"method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":"x"}"#,
        r#"{"method":"notifications/tools/list_changed"}"#,
        r#"{"id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7.0,"method":"ping","params":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}"#,
    ] {
        let found = read(&format!("{text}\n"), &[]).await;
        let [message] = &found[..] else {
            panic!("{text}: {found:?}");
        };
        // A client refuses it, and no handler gets it.
        let is_unreadable = matches!(
            message,
            JsonRpcMessage::Request(asked)
                if matches!(asked.request, ServerRequest::CustomRequest(_))
        );
        assert_eq!(is_unreadable, text.contains("[1]"), "{text}: {message:?}");
    }
}

#[tokio::test]
async fn a_change_of_the_tools_is_heard_in_every_form() {
    for text in [
        r#"{"jsonrpc":"2.0","id":7,"method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","id":"n-1","method":"notifications/tools/list_changed","params":[1]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":null,"x":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/listChanged"}"#,
        r#"{"jsonrpc":"2.0","method":"Notifications/Tools/List_Changed"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/list_changed"}"#,
    ] {
        let found = read(&format!("{text}\n"), &[]).await;
        let [JsonRpcMessage::Notification(heard)] = &found[..] else {
            panic!("{text}: {found:?}");
        };
        let is_change = matches!(
            heard.notification,
            ServerNotification::ToolListChangedNotification(_)
        );
        assert!(is_change, "{text}: {heard:?}");
    }
}
