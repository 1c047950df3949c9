//! Calls with a key that wait, among other requests with their ids.

use super::{
    lines::{NEW, call, declares, initialize},
    serve,
};

#[tokio::test(start_paused = true)]
async fn a_success_takes_nothing_from_a_call_that_waits_with_the_same_id() {
    let numbered = |number: u8, key: &str| {
        let arguments = format!(r#""name":"book","arguments":{{"n":{number}}}"#);
        call("1", key).replace(r#""name":"book""#, &arguments)
    };
    let lines = [
        initialize(NEW),
        numbered(1, "first"),
        call("2", "second"),
        numbered(3, "third"),
    ];
    let served = serve(&lines).await;
    assert_eq!(served.ran, ["first", "second", "third"]);
    assert_eq!(served.log, ["1 ran", "2 ran", "1 ran"]);
}

#[tokio::test(start_paused = true)]
async fn an_error_takes_nothing_from_a_call_that_waits_with_the_same_id() {
    let with_method = |method: &str| call("1", "other").replace("tools/call", method);
    let with_params = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
    };
    let logged = |code: &str| Some(format!("1 {code}"));
    let others = [
        (with_method("nope"), None),
        (with_method("prompts/list"), None),
        (with_method("logging/setLevel"), None),
        (with_method("resources/read"), logged("-32602")),
        (
            with_params(r#"{"uri":"books://dune"}"#).replace("tools/call", "resources/read"),
            logged("-32602"),
        ),
        (
            call("1", "other").replace("\"book\"", "5"),
            logged("-32602"),
        ),
        // The router refuses it, in the stack.
        (
            call("1", "other").replace("\"book\"", "\"nope\""),
            logged("-32602"),
        ),
        (with_params(r#"["book"]"#), logged("-32602")),
        (
            with_params(r#"{"name":"book","_meta":5}"#),
            logged("-32602"),
        ),
        (declares("1999-01-01", "1", "other"), logged("-32022")),
        (
            declares("1999-01-01", "1", "other").replace("2.0", "1.0"),
            logged("-32022"),
        ),
        (format!("{} x", call("1", "other")), logged("-32700")),
        (format!("{} x", call("1", "first")), logged("-32700")),
    ];
    for (other, logged) in others {
        for is_later in [false, true] {
            let mut waiting = [other.clone(), call("1", "first")];
            if is_later {
                waiting.reverse();
            }
            let [one, two] = waiting;
            let served = serve(&[initialize(NEW), call("2", "second"), one, two]).await;
            assert_eq!(served.ran, ["second", "first"], "{other}");
            let mut log = served.log;
            log.sort_unstable();
            let wanted = ["1 ran", "2 ran"].map(str::to_owned).into_iter();
            let mut wanted: Vec<_> = wanted.chain(logged.clone()).collect();
            wanted.sort_unstable();
            assert_eq!(log, wanted, "{other}");
        }
    }
}
