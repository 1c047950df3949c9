//! The messages that are found in a text, in each form.

use super::{
    asked::Running,
    read::{Found, MESSAGES, read, read_last},
    refusal,
};
use ::rmcp::model::{CallToolRequest, JsonRpcMessage};
use ::rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, RequestId, ServerNotification,
};

fn running(ids: &[i64]) -> Running {
    let mut running = Running::default();
    for id in ids {
        let params = CallToolRequestParams::new("look");
        let call = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        running.note(&ClientJsonRpcMessage::request(call, RequestId::Number(*id)));
    }
    running
}

/// What is found: `+1` for a good answer to 1, `-1` for an unreadable one, `m`, `f` and `u` for the rest.
fn found(text: &str) -> String {
    let found = read(text.as_bytes(), &mut running(&[1, 2, 3]));
    let found = found.into_iter().map(|found| match found {
        Found::Message(_) => "m".to_owned(),
        Found::Answer { message, .. } => match message {
            JsonRpcMessage::Response(response) => format!("+{}", response.id),
            JsonRpcMessage::Error(error) => format!("-{}", error.id.unwrap()),
            message => panic!("{message:?}"),
        },
        Found::Foreign => "f".to_owned(),
        Found::Unreadable(_) => "u".to_owned(),
    });
    found.collect::<Vec<_>>().join(" ")
}

#[test]
fn one_broken_message_hides_no_other() {
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
        (format!("[1,2] {{{{{{ {good}"), "+2 u"),
        (
            r#"{"id":1,"result":{"x":NaN}} {"id":3,"result":{"x":NaN}}"#.to_owned(),
            "-1 -3",
        ),
        (
            format!(r#"{{"id":1,"result":{{"x":NaN}}}}{{"id":77,"result":{{}}}}{good}"#),
            "-1 +2 f",
        ),
        // The id of an object inside of one is not its own.
        (
            r#"{"level":"info","at":NaN,"request":{"id":1,"result":{"content":[]}}}"#.to_owned(),
            "u",
        ),
    ] {
        assert_eq!(found(&text), expected, "{text}");
    }
}

#[test]
fn an_id_that_no_request_has_ends_the_only_one_that_waits() {
    for text in [
        r#"{"jsonrpc":"2.0","id":true,"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":{},"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":[1,2],"error":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":true,"result":{"x":NaN}}"#,
    ] {
        let only = read(text.as_bytes(), &mut running(&[1]));
        let is_its = matches!(
            &only[..],
            [Found::Answer {
                message: JsonRpcMessage::Error(_),
                ..
            }]
        );
        assert!(is_its, "{text}: {only:?}");
        // With several waiting calls, it is unknown which one it answers.
        assert_eq!(found(text), "u", "{text}");
    }
    // A log line and an answer without an id belong to no call.
    for text in [
        r#"{"id":true,"result":"ok"}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
    ] {
        let only = read(text.as_bytes(), &mut running(&[1]));
        let is_answer = matches!(&only[..], [Found::Answer { .. }]);
        assert!(!is_answer, "{text}: {only:?}");
    }
}

#[test]
fn a_number_that_is_too_big_hides_no_answer() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"n":1e400}}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"n":-1e400}}}]"#,
    ] {
        assert_eq!(found(text), "+1", "{text}");
    }
    let request = r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"n":1e400}}}"#;
    assert_eq!(found(request), "m");
    assert_eq!(
        found(r#"{"jsonrpc":"2.0","id":1,"result":{"x":1e400,}}"#),
        "-1"
    );
}

#[test]
fn the_last_line_of_a_stream_is_whole_or_cut_off() {
    for (text, is_answer) in [
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
        let found = read_last(text.as_bytes(), &mut running(&[1, 2]));
        let answers = found.iter();
        let answers = answers.filter(|found| matches!(found, Found::Answer { .. }));
        assert_eq!(answers.count(), usize::from(is_answer), "{text}: {found:?}");
    }
}

#[test]
fn an_answer_in_another_writing_ends_its_call() {
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
            "+1 u",
        ),
        (
            r#"{dbg} {id: 1} {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
            "+1 u",
        ),
        // No answers.
        (r"{'id': 1, 'result': 'logged'}", "u"),
        (r"{'level': 'info', 'request': {'id': 1}}", "u"),
        (r"{'jsonrpc': '2.0', 'method': 'x', 'id': 1}", "u"),
    ] {
        assert_eq!(found(text), expected, "{text}");
    }
}

#[test]
fn a_line_of_a_log_ends_no_call_whatever_members_it_has() {
    for text in [
        r#"{"level":"error","error":"disk full","id":1}"#,
        r#"{"level":"info","result":"ok","id":1}"#,
        r#"{"method":"GET","path":"/x","error":"gone","id":1}"#,
        r#"{"level":"info","error":"x","id":1,"at":NaN}"#,
        r#"{"msg":"id 1","id":1}"#,
        r#"{"level":"info","context":{"id":1,"result":{"content":[]}},"at":"#,
    ] {
        assert_eq!(found(text), "u", "{text}");
    }
}

#[test]
fn a_text_costs_no_more_than_a_few_findings_and_one_event() {
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
        assert!(found(&text).len() <= 3, "{part}: {}", found(&text));
    }
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let text = notification.repeat(MESSAGES + 10);
    let all = read(text.as_bytes(), &mut running(&[]));
    assert_eq!(all.len(), MESSAGES + 1);
    let Some(Found::Unreadable(more)) = all.last() else {
        panic!("the rest is not told");
    };
    assert_eq!(more.count(), 10);
    // An answer ends its call after any number of other texts.
    let text = format!("{text}{}", r#"{"id":1,"result":{"content":[]}}"#);
    let all = read(text.as_bytes(), &mut running(&[1]));
    assert!(
        all.iter()
            .any(|found| matches!(found, Found::Answer { .. }))
    );
    let many = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":[{}1]}}"#,
        "1,".repeat(1024 * 1024)
    );
    assert_eq!(found(&many), "-1");
}

#[test]
fn a_change_of_the_tools_is_heard_in_every_form() {
    for text in [
        r#"{"jsonrpc":"2.0","id":7,"method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","id":"n-1","method":"notifications/tools/list_changed","params":[1]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":null,"x":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/listChanged"}"#,
        r#"{"jsonrpc":"2.0","method":"Notifications/Tools/List_Changed"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/list_changed"}"#,
    ] {
        let found = read(text.as_bytes(), &mut running(&[]));
        let [Found::Message(JsonRpcMessage::Notification(heard))] = &found[..] else {
            panic!("{text}: {found:?}");
        };
        let is_change = matches!(
            heard.notification,
            ServerNotification::ToolListChangedNotification(_)
        );
        assert!(is_change, "{text}: {heard:?}");
    }
}

#[test]
fn messages_of_the_server_are_mended() {
    for text in [
        r#"{"jsonrpc":"2.0","id":null,"method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":"x"}"#,
        r#"{"method":"notifications/tools/list_changed"}"#,
        r#"{"id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7.0,"method":"ping","params":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}"#,
    ] {
        let found = read(text.as_bytes(), &mut running(&[]));
        let [Found::Message(message)] = &found[..] else {
            panic!("{text}: {found:?}");
        };
        let is_refused = refusal(message).is_some();
        assert_eq!(is_refused, text.contains("[1]"), "{text}: {message:?}");
    }
}
