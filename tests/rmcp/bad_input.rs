//! Invalid input of a client is answered, or refused as the SDK refuses it. A call that reaches the
//! stack leaves one valid line. The server goes on.

use crate::support::{Bookshop, Exchange, Wire, assert_has, over_both_wires};
use serde_json::{Value, json};

over_both_wires! {
    arguments_that_are_no_object_are_refused
    arguments_that_are_null_are_none
    a_tool_name_of_a_megabyte_is_cut_in_the_log_alone
    a_tool_name_with_control_characters_is_logged_on_one_line
    arguments_nested_100_deep_are_answered
    arguments_nested_500_deep_harm_nothing
    an_unpaired_surrogate_harms_nothing
    a_number_beyond_a_float_is_refused
    large_integers_are_logged_digit_for_digit
    a_request_without_a_name_is_refused
    a_field_that_cannot_be_read_is_named
    parameters_of_other_methods_that_cannot_be_read_are_refused
    a_uri_of_a_megabyte_is_cut
    secrets_among_the_arguments_are_masked_in_the_log
}

/// The server answers as if nothing had been, and leaves no line for what never reached it.
async fn assert_goes_on(mut shop: Bookshop) {
    let done = shop.call("get_author", json!({"title": "Dune"})).await;
    assert_eq!(done.text(), "Frank Herbert");
    shop.leave().await;
}

/// Calls `get_author` for "Dune" with one more argument, as it stands.
async fn send_with(shop: &mut Bookshop, extra: &str) -> u64 {
    let params =
        format!(r#"{{"name":"get_author","arguments":{{"title":"Dune","extra":{extra}}}}}"#);
    shop.send_text("tools/call", &params).await
}

async fn arguments_that_are_no_object_are_refused(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let cases = [
        ("[]", "an array"),
        (r#"["Dune"]"#, "an array"),
        (r#""Dune""#, "a string"),
        ("5", "a number"),
        ("true", "a boolean"),
        (
            r#""{\"title\":\"Dune\"}""#,
            "a string; the string holds a JSON object: send that object itself",
        ),
    ];
    for (arguments, kind) in cases {
        let params = format!(r#"{{"name":"get_author","arguments":{arguments}}}"#);
        let id = shop.send_text("tools/call", &params).await;
        let done = shop.conclude(id).await;
        let problem = format!("tools/call: `arguments` must be an object, not {kind}");
        assert_refused(&done, &problem);
        let logged = json!({
            "tool": "get_author", "arguments": serde_json::from_str::<Value>(arguments).unwrap(),
        });
        assert_has(&done.line, &logged);
    }
    assert_goes_on(shop).await;
}

/// The call was not sent to the handler, and its answer and its line say why.
#[track_caller]
fn assert_refused(done: &Exchange, problem: &str) {
    assert_eq!(done.error(), &json!({"code": -32602, "message": problem}));
    let wanted = json!({
        "level": "INFO", "outcome": "failed", "is_error": null, "attempts": 1, "retried": false,
        "class": "invalid_input", "code": -32602, "delivery": "not_sent", "error": problem,
    });
    assert_has(&done.line, &wanted);
}

async fn arguments_that_are_null_are_none(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let done = shop.call("get_author", Value::Null).await;
    assert_eq!(done.result()["isError"], true);
    assert!(done.text().contains("title"), "{}", done.text());
    let wanted = json!({"outcome": "failed", "class": "invalid_input", "arguments": null});
    assert_has(&done.line, &wanted);
    assert_goes_on(shop).await;
}

async fn a_tool_name_of_a_megabyte_is_cut_in_the_log_alone(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let name = "burn_books_".repeat(100_000);
    let done = shop.call(&name, json!({"title": "Dune"})).await;

    assert_eq!(done.error()["code"], -32602);
    let size = done.answer.to_string().len();
    assert!(size < 16 * 1024, "an answer of {size} bytes");
    let logged = done.line["tool"].as_str().unwrap();
    assert!(logged.len() <= 256, "{logged}");
    let kept = logged.strip_suffix('…').expect("a mark of the cut");
    assert!(name.starts_with(kept) && kept.len() > 200, "{logged}");
    let wanted = json!({"class": "not_found", "arguments": {"title": "Dune"}});
    assert_has(&done.line, &wanted);
    assert_goes_on(shop).await;
}

async fn a_tool_name_with_control_characters_is_logged_on_one_line(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let name = "get\n{\"level\":\"INFO\"}\r\u{0}\u{1b}[31m\u{85}\u{2028}\u{2029}author\"\\";
    let done = shop.call(name, json!({"ti\ntle": "Du\u{7}ne"})).await;

    assert_eq!(done.error()["code"], -32602);
    let wanted = json!({"tool": name, "arguments": {"ti\ntle": "Du\u{7}ne"}});
    assert_has(&done.line, &wanted);
    assert_goes_on(shop).await;
}

async fn arguments_nested_100_deep_are_answered(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let arrays = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
    for extra in [arrays, objects] {
        let id = send_with(&mut shop, &extra).await;
        let done = shop.conclude(id).await;
        assert_eq!(done.text(), "Frank Herbert");
        let logged = &done.line["arguments"]["extra"];
        assert_eq!(logged.to_string(), extra, "whole, as there is room");
    }
    assert_goes_on(shop).await;
}

async fn arguments_nested_500_deep_harm_nothing(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let extra = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let id = send_with(&mut shop, &extra).await;
    shop.expect_refused(id, "`arguments` cannot be read: recursion limit")
        .await;
    assert_goes_on(shop).await;
}

async fn an_unpaired_surrogate_harms_nothing(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    for extra in [r#""\ud800""#, r#""\udc00 and more""#, r#"{"\ud83d":1}"#] {
        // No string that Rust could hold: the SDK's parser refuses it.
        let id = send_with(&mut shop, extra).await;
        shop.expect_refused(id, "`arguments` cannot be read: ")
            .await;
    }
    let id = send_with(&mut shop, r#""\ud83d\ude00""#).await;
    let done = shop.conclude(id).await;
    assert_eq!(done.line["arguments"]["extra"], "😀", "a pair is one");
    assert_goes_on(shop).await;
}

async fn a_number_beyond_a_float_is_refused(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    for extra in ["1e400", "[-1e999]", &"9".repeat(400)] {
        let id = send_with(&mut shop, extra).await;
        shop.expect_refused(id, "`arguments` cannot be read: number out of range")
            .await;
    }
    assert_goes_on(shop).await;
}

async fn large_integers_are_logged_digit_for_digit(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let numbers = "[9007199254740993,18446744073709551615,-9223372036854775808,0,-1]";
    let id = send_with(&mut shop, numbers).await;
    let done = shop.conclude(id).await;
    assert_eq!(done.text(), "Frank Herbert");
    // Compared as text, since a parser might round both in the same way.
    let line = shop.line_text(id);
    let logged = format!(r#""extra":{numbers}"#);
    assert!(line.contains(&logged), "{logged} in {line}");
    assert_goes_on(shop).await;
}

async fn a_request_without_a_name_is_refused(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let nameless = [
        ("tools/call", "null", "the parameters are missing"),
        ("tools/call", "{}", "`name` is missing"),
        ("tools/call", r#"{"arguments":{}}"#, "`name` is missing"),
        (
            "tools/call",
            r#"{"name":5}"#,
            "`name` must be a string, not a number",
        ),
        ("resources/read", "{}", "`uri` is missing"),
        (
            "resources/read",
            r#"{"uri":null}"#,
            "`uri` must be a string, not null",
        ),
        (
            "resources/read",
            r#"{"uri":["books://Dune"]}"#,
            "`uri` must be a string, not an array",
        ),
        ("prompts/get", r#"{"arguments":{}}"#, "`name` is missing"),
        (
            "prompts/get",
            r#"{"name":{}}"#,
            "`name` must be a string, not an object",
        ),
    ];
    for (method, params, problem) in nameless {
        let id = shop.send_text(method, params).await;
        let done = shop.conclude(id).await;
        assert_refused(&done, &format!("{method}: {problem}"));
        assert_eq!(done.line["method"], method);
    }
    assert_goes_on(shop).await;
}

async fn a_field_that_cannot_be_read_is_named(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let fields = [
        ("requestState", "5", "a number"),
        ("inputResponses", r#""s3cr3t""#, "a string"),
        ("inputResponses", "[]", "an array"),
    ];
    for (field, value, kind) in fields {
        let params =
            format!(r#"{{"name":"get_author","arguments":{{"title":"Dune"}},"{field}":{value}}}"#);
        let id = shop.send_text("tools/call", &params).await;
        let done = shop.conclude(id).await;
        assert_refused(
            &done,
            &format!("tools/call: `{field}` cannot be read: it is {kind}"),
        );
        assert_has(
            &done.line,
            &json!({"tool": "get_author", "arguments": {"title": "Dune"}}),
        );
    }
    // An unknown field is no reason to refuse a call.
    let params = json!({"name": "get_author", "arguments": {"title": "Dune"}, "task": 5});
    let done = shop.exchange("tools/call", &params).await;
    assert_eq!(done.text(), "Frank Herbert");
    assert_goes_on(shop).await;
}

async fn parameters_of_other_methods_that_cannot_be_read_are_refused(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    // Methods that this server does not offer, and unknown methods, are not found.
    for method in ["tasks/get", "logging/setLevel", "tools/run"] {
        let answer = shop.request(method, &json!({"level": "x"})).await;
        let error = json!({"code": -32601, "message": method});
        assert_eq!(answer["error"], error);
    }
    assert_goes_on(shop).await;
}

async fn a_uri_of_a_megabyte_is_cut(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let uri = format!("books://{}", "N".repeat(1_000_000));
    let done = shop.exchange("resources/read", &json!({"uri": uri})).await;

    assert_eq!(done.error()["code"], -32602);
    let size = done.answer.to_string().len();
    assert!(size < 16 * 1024, "an answer of {size} bytes");
    let logged = done.line["uri"].as_str().unwrap();
    assert!(logged.len() <= 256 && logged.ends_with('…'), "{logged}");

    let done = shop.call("get_author", json!({"title": uri})).await;
    assert_eq!(done.result()["isError"], true);
    let size = done.answer.to_string().len();
    assert!(size < 16 * 1024, "an answer of {size} bytes");
    assert_goes_on(shop).await;
}

async fn secrets_among_the_arguments_are_masked_in_the_log(wire: Wire) {
    let mut shop = Bookshop::open(wire, &[]).await;
    let arguments = json!({
        "title": "Dune",
        "api_key": "s3cr3t-1",
        "X-Auth-Token": "s3cr3t-2",
        "login": {"Password": "s3cr3t-3", "user": "ann"},
        "headers": ["Bearer s3cr3t-4"],
        "credentials": {"id": "s3cr3t-5"},
        "pin": 53_774,
        "max_tokens": 100,
    });
    let done = shop.call("get_author", arguments).await;

    assert_eq!(done.text(), "Frank Herbert");
    let masked = json!({
        "title": "Dune",
        "api_key": "[masked]",
        "X-Auth-Token": "[masked]",
        "login": {"Password": "[masked]", "user": "ann"},
        "headers": ["Bearer [masked]"],
        "credentials": "[masked]",
        "pin": "[masked]",
        "max_tokens": 100,
    });
    assert_eq!(done.line["arguments"], masked);
    assert_goes_on(shop).await;
}

/// 10 MB: more than the SDK takes over HTTP, and less than it takes on stdio.
fn ten_megabytes() -> String {
    format!(r#""{}""#, "\\\"ü".repeat(2_500_000))
}

#[tokio::test]
async fn ten_megabytes_of_arguments_are_answered_on_stdio_and_cut_in_the_log() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    let extra = ten_megabytes();
    assert!(extra.len() >= 10_000_000);
    let id = send_with(&mut shop, &extra).await;
    let done = shop.conclude(id).await;

    assert_eq!(done.text(), "Frank Herbert");
    let line = shop.line_text(id);
    assert!(line.len() <= 16 * 1024, "{} bytes", line.len());
    let arguments = done.line["arguments"].to_string();
    assert!(arguments.contains('…'), "a mark of the cut: {arguments}");
    assert_goes_on(shop).await;
}

#[tokio::test]
async fn ten_megabytes_of_arguments_are_refused_over_http() {
    let shop = Bookshop::open(Wire::Http, &[]).await;
    let extra = ten_megabytes();
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{{"name":"get_author","arguments":{{"title":"Dune","extra":{extra}}}}}}}"#
    );
    match shop.http().try_post(message).await {
        Ok(posted) => assert_eq!(posted.status, 413, "{posted:?}"),
        // The server hung up on what it did not want to read, before its answer could be read.
        Err(error) => assert!(error.is_request() || error.is_body(), "{error:?}"),
    }
    assert_goes_on(shop).await;
}

/// None is a message, and none has an id: invalid JSON, or JSON of another shape.
const NO_MESSAGES: [(&str, bool); 6] = [
    ("hello", false),
    ("[]", true),
    ("{}", true),
    ("null", true),
    ("5", true),
    (r#"{"jsonrpc":"2.0","params":{}}"#, true),
];

#[tokio::test]
async fn input_that_is_not_a_message_is_ignored_or_refused_on_stdio() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    for (text, is_json) in NO_MESSAGES {
        shop.write(text).await;
        if is_json {
            let error = shop.error_without_id().await;
            assert_eq!(error["code"], -32600, "{text}");
        }
    }
    shop.write("").await;
    shop.write("\u{feff}").await;
    assert_goes_on(shop).await;
}

/// A request of each kind: its method and its parameters.
const REQUESTS: [(&str, &str); 5] = [
    (
        "tools/call",
        r#"{"name":"get_author","arguments":{"title":"Dune"}}"#,
    ),
    ("resources/read", r#"{"uri":"books://Dune"}"#),
    (
        "prompts/get",
        r#"{"name":"recommend_book","arguments":{"genre":"cyberpunk"}}"#,
    ),
    ("tools/list", "{}"),
    ("ping", "{}"),
];

/// A way to write a request, and the code of the error that it gets, if any.
type Oddity = (&'static str, fn(u64, &str, &str) -> String, Option<i64>);

const ODDITIES: &[Oddity] = &[
    (
        "no version",
        |id, m, p| format!(r#"{{"id":{id},"method":"{m}","params":{p}}}"#),
        None,
    ),
    (
        "another version",
        |id, m, p| format!(r#"{{"jsonrpc":"1.0","id":{id},"method":"{m}","params":{p}}}"#),
        None,
    ),
    (
        "a version that is a number",
        |id, m, p| format!(r#"{{"jsonrpc":2.0,"id":{id},"method":"{m}","params":{p}}}"#),
        None,
    ),
    (
        "null members",
        |id, m, p| {
            format!(
                r#"{{"jsonrpc":null,"id":{id},"method":"{m}","params":{p},"result":null,"error":null}}"#
            )
        },
        None,
    ),
    (
        "a byte order mark",
        |id, m, p| format!("\u{feff}{}", plain(id, m, p)),
        None,
    ),
    (
        "a batch of one",
        |id, m, p| format!("[{}]", plain(id, m, p)),
        None,
    ),
    (
        "after another message",
        |id, m, p| {
            let other = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
            format!("{other} {}", plain(id, m, p))
        },
        None,
    ),
    (
        "a text in JSON",
        |id, m, p| Value::from(plain(id, m, p)).to_string(),
        None,
    ),
    (
        "the same member twice, and alike",
        |id, m, p| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"id":{id},"method":"{m}","params":{p}}}"#)
        },
        None,
    ),
    (
        "the end of a line of Windows",
        |id, m, p| format!("{}\r", plain(id, m, p)),
        None,
    ),
    (
        "parameters that are a string",
        |id, m, _| plain(id, m, r#""text""#),
        Some(-32602),
    ),
    (
        "parameters that are an array",
        |id, m, _| plain(id, m, "[5]"),
        Some(-32602),
    ),
    (
        "parameters that are a number",
        |id, m, _| plain(id, m, "1e400"),
        Some(-32602),
    ),
    (
        "`_meta` that is no object",
        |id, m, p| {
            plain(
                id,
                m,
                &p.replacen('{', r#"{"_meta":"text","x":1,"#, 1)
                    .replace(",}", "}"),
            )
        },
        Some(-32602),
    ),
    (
        "a number beyond a float",
        |id, m, p| {
            plain(
                id,
                m,
                &p.replacen('{', r#"{"x":1e400,"y":1,"#, 1)
                    .replace(",}", "}"),
            )
        },
        Some(-32602),
    ),
    (
        "half a surrogate pair",
        |id, m, p| {
            plain(
                id,
                m,
                &p.replacen('{', r#"{"x":"\ud800","y":1,"#, 1)
                    .replace(",}", "}"),
            )
        },
        Some(-32602),
    ),
    (
        "too deep",
        |id, m, p| {
            let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
            let deep = format!(r#"{{"x":{deep},"y":1,"#);
            plain(id, m, &p.replacen('{', &deep, 1).replace(",}", "}"))
        },
        Some(-32602),
    ),
    (
        "a bare word",
        |id, m, _| plain(id, m, r#"{"name":NaN}"#),
        Some(-32600),
    ),
    (
        "a broken text",
        |id, m, _| plain(id, m, r#"{"name":"un"quoted"}"#),
        Some(-32600),
    ),
    (
        "without its end",
        |id, m, _| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{m}","params":{{"name":"#),
        Some(-32600),
    ),
    (
        "parameters twice, and different",
        |id, m, p| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{m}","params":{p},"params":{{"y":2}}}}"#
            )
        },
        Some(-32600),
    ),
];

fn plain(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

#[tokio::test]
async fn each_request_that_has_an_id_is_run_or_refused_under_it_on_stdio() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    for (oddity, write, code) in ODDITIES {
        for (method, params) in REQUESTS {
            let line = |id| write(id, method, params).into_bytes();
            let id = shop.write_request(method, line).await;
            let answer = shop.answer(id).await;
            assert_eq!(
                answer["error"]["code"].as_i64(),
                *code,
                "{oddity}, {method}: {answer}"
            );
            if shop.is_due(id) {
                let outcome = if code.is_some() { "failed" } else { "success" };
                let line = shop.line(id).await;
                assert_eq!(line["outcome"], outcome, "{oddity}, {method}: {line}");
                assert_eq!(line["method"], method);
            }
            let done = shop.call("get_author", json!({"title": "Dune"})).await;
            assert_eq!(done.text(), "Frank Herbert", "after {oddity}, {method}");
        }
    }
    // Exactly one line each.
    assert_goes_on(shop).await;
}

#[tokio::test]
async fn a_request_that_the_sdk_cannot_read_over_http_is_refused_by_status() {
    let shop = Bookshop::open(Wire::Http, &[]).await;
    for (oddity, write, _) in ODDITIES.iter().filter(|(.., code)| code.is_some()) {
        for (method, params) in REQUESTS {
            let posted = shop.http().post(write(9, method, params)).await;
            assert_eq!(posted.status, 415, "{oddity}, {method}: {posted:?}");
            let words = "fail to deserialize request body";
            assert!(posted.body.starts_with(words), "{posted:?}");
        }
    }
    // And no line of any.
    assert_goes_on(shop).await;
}

#[tokio::test]
async fn a_message_of_another_shape_that_has_an_id_is_refused_under_it() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    for rest in [
        "",
        r#","params":{}"#,
        r#","method":5"#,
        r#","method":["ping"]"#,
    ] {
        let line = |id| format!(r#"{{"jsonrpc":"2.0","id":{id}{rest}}}"#).into_bytes();
        let id = shop.write_request("", line).await;
        let answer = shop.answer(id).await;
        assert_eq!(answer["error"]["code"], -32600, "{rest}: {answer}");
    }
    assert_goes_on(shop).await;
}

#[tokio::test]
async fn a_call_that_is_no_utf_8_or_too_long_is_refused_under_its_id() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    let fillers: [(Vec<u8>, &str); 2] = [
        (b"\xff\xfe".to_vec(), "UTF-8"),
        (vec![b'x'; 17 * 1024 * 1024], "16 MiB"),
    ];
    for (filler, problem) in fillers {
        let line = |id| {
            let (begin, end) = (
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":""#),
                br#""}}"#,
            );
            [begin.as_bytes(), &filler, end].concat()
        };
        let id = shop.write_request("tools/call", line).await;
        let done = shop.conclude(id).await;
        let message = done.error()["message"].as_str().unwrap();
        assert!(message.contains(problem), "{message}");
        assert_eq!(done.error()["code"], -32600);
        assert_eq!(done.line["class"], "invalid_input");
    }
    assert_goes_on(shop).await;
}

#[tokio::test]
async fn each_request_of_a_batch_is_answered() {
    let mut shop = Bookshop::open(Wire::Stdio, &[]).await;
    let call = r#"{"name":"get_author","arguments":{"title":"Dune"}}"#;
    let mut ids = Vec::new();
    let mut batch = Vec::new();
    for params in [call, "[]", call] {
        let id = shop.reserve("tools/call");
        batch.push(plain(id, "tools/call", params));
        ids.push(id);
    }
    shop.write(&format!("[{}, 5]", batch.join(","))).await;
    for (id, is_refused) in ids.into_iter().zip([false, true, false]) {
        let done = shop.conclude(id).await;
        assert_eq!(done.answer.get("error").is_some(), is_refused, "{done:?}");
    }
    assert_eq!(shop.error_without_id().await["code"], -32600);
    assert_goes_on(shop).await;
}

#[tokio::test]
async fn input_that_is_not_a_message_is_refused_over_http() {
    let shop = Bookshop::open(Wire::Http, &[]).await;
    for (text, _) in NO_MESSAGES {
        let posted = shop.http().post(text.to_owned()).await;
        assert!(posted.status.is_client_error(), "{text}: {posted:?}");
    }
    assert_goes_on(shop).await;
}

#[tokio::test]
async fn an_unknown_session_is_refused_over_http() {
    let shop = Bookshop::open(Wire::Http, &[]).await;
    let stranger = shop
        .http()
        .in_session("00000000-0000-4000-8000-000000000000");
    let message =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_author"}}"#;
    let posted = stranger.post(message.to_owned()).await;
    assert_eq!(posted.status, 404, "{posted:?}");
    assert_goes_on(shop).await;
}
