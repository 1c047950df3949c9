use super::{
    end,
    fault::{Arguments, Fault, Status},
    ledger::Call,
    reply::{HttpReply, Reply, Response, error, result},
    server::Server,
};
use serde_json::{Value, json};
use std::process;

/// The hints of the tools.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hints {
    Honest,
    Swapped,
    None,
}

/// The list of tools, on one page.
pub(crate) fn list(hints: Hints) -> Value {
    let reads = json!({"readOnlyHint": true, "idempotentHint": true});
    let writes = json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false});
    let (look, book) = match hints {
        Hints::Swapped => (&writes, &reads),
        Hints::Honest | Hints::None => (&reads, &writes),
    };
    let arguments = json!({
        "type": "object",
        "properties": {
            "key": {"type": "string"},
            "fault": {"type": "object"},
            "times": {"type": "integer", "minimum": 0},
        },
        "required": ["key"],
    });
    let mut tools = json!([
        {"name": "look", "description": "Reads.", "inputSchema": arguments, "annotations": look},
        {"name": "book", "description": "Writes.", "inputSchema": arguments, "annotations": book},
        {"name": "pid", "inputSchema": {"type": "object"}, "annotations": reads},
    ]);
    if let (Hints::None, Some(tools)) = (hints, tools.as_array_mut()) {
        for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
            tool.remove("annotations");
        }
    }
    json!({"tools": tools})
}

impl Server {
    pub(super) fn call(&self, id: &Value, params: &Value) -> Reply {
        let tool = params["name"].as_str().unwrap_or_default();
        match tool {
            "look" | "book" => {}
            "pid" => {
                let pid = process::id();
                return Reply::one(answer(id, &pid.to_string(), &json!({"pid": pid})));
            }
            _ => return Reply::one(error(id, -32602, &format!("there is no tool {tool:?}"))),
        }
        let arguments: Arguments = match serde_json::from_value(params["arguments"].clone()) {
            Ok(arguments) => arguments,
            Err(why) => return Reply::one(error(id, -32602, &why.to_string())),
        };
        let fault = arguments.fault.unwrap_or_default();
        if fault.needs_http() && self.options().http.is_none() {
            let kind = &params["arguments"]["fault"]["kind"];
            let message = format!("the fault {kind} is of HTTP only");
            return Reply::one(error(id, -32602, &message));
        }

        let call = Call {
            tool: tool.to_owned(),
            key: arguments.key,
            id: id.clone(),
        };
        let strikes = self.ledger.arrived(&call) <= arguments.times;
        let fault = if strikes { fault } else { Fault::None };
        if fault.is_before_the_effect() {
            return without_effect(fault, id);
        }
        let executions = self.ledger.executed(&call);
        let text = format!("{} ran {executions} time(s)", call.key);
        let good = answer(id, &text, &json!({"executions": executions}));
        with_effect(fault, id, good)
    }
}

fn without_effect(fault: Fault, id: &Value) -> Reply {
    match fault {
        Fault::Refuse { retry_after } => Reply::one(slow_down(id, retry_after)),
        Fault::DieBefore => end(9, "dying before"),
        Fault::ErrorNoId => Reply::one(without_id(error(id, -32000, "no id"))),
        Fault::ErrorNullId => Reply::one(error(&Value::Null, -32000, "null for an id")),
        // The remaining faults do the same before and after the effect.
        other => with_effect(other, id, Value::Null),
    }
}

fn with_effect(fault: Fault, id: &Value, good: Value) -> Reply {
    match fault {
        Fault::DieAfter => end(9, "dying after"),
        Fault::DieAtByte { byte } => Reply::DieAtByte(good, byte),
        Fault::Hang | Fault::HangBefore => Reply::Silence,
        Fault::NoId => Reply::one(without_id(good)),
        Fault::NullId => Reply::one(with_id(good, Value::Null)),
        Fault::ForeignId => Reply::one(with_id(good, json!(987_654_321))),
        Fault::Twice => Reply::Messages(vec![good.clone(), good]),
        Fault::Late { seconds } => Reply::Late(good, seconds),
        Fault::Noise => Reply::Noisy(good),
        Fault::Raw { text } => Reply::Raw(raw(&text, id)),
        Fault::WrongResult => Reply::one(result(id, &json!("no result of a tool"))),
        Fault::NotFound { silent } | Fault::NotFoundAfter { silent } => {
            Response::session_not_found(silent).into()
        }
        Fault::Stale => Response::stale().into(),
        Fault::Status(status) => response(status, id).into(),
        Fault::Html { .. } => Response::page().into(),
        Fault::CutBody { byte } => Reply::Http(HttpReply::CutBody(good, byte)),
        Fault::CutStream { priming, torn } => Reply::Http(HttpReply::CutStream { priming, torn }),
        Fault::DropBefore | Fault::DropAfter => Reply::Http(HttpReply::Drop),
        Fault::None
        | Fault::Refuse { .. }
        | Fault::DieBefore
        | Fault::ErrorNoId
        | Fault::ErrorNullId => Reply::one(good),
    }
}

/// The bytes of an answer that is invalid or unusual JSON.
fn raw(text: &str, id: &Value) -> Vec<u8> {
    let text = text
        .replace("$ID", &id.to_string())
        .replace("$LONG", &"x".repeat(17 * 1024 * 1024))
        .replace("$DEEP", &"[".repeat(500));
    let parts = text.split("$BYTES").map(str::as_bytes);
    parts.collect::<Vec<_>>().join(&[0xb0, 0xa1][..])
}

fn answer(id: &Value, text: &str, structured: &Value) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    let answer = json!({"content": content, "structuredContent": structured, "isError": false});
    result(id, &answer)
}

fn slow_down(id: &Value, retry_after: Option<Value>) -> Value {
    let mut envelope = json!({"code": "rate_limited", "error": "slow down"});
    if let Some(hint) = retry_after {
        envelope["retryAfter"] = hint;
    }
    let mut refused = answer(id, "slow down", &envelope);
    refused["result"]["isError"] = json!(true);
    refused
}

fn response(status: Status, id: &Value) -> Response {
    let message = format!("status {}", status.code);
    let mut response = if status.rpc {
        let mut body = error(id, -32000, &message);
        if let Some(hint) = &status.retry_after {
            let number = serde_json::from_str(hint).ok().filter(Value::is_number);
            body["error"]["data"] = json!({"retryAfter": number.unwrap_or_else(|| json!(hint))});
        }
        Response::json(status.code, &body)
    } else {
        Response::text(status.code, message)
    };
    let headers = [
        ("Retry-After", status.retry_after),
        ("WWW-Authenticate", status.authenticate),
    ];
    response.headers = headers
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    response
}

fn with_id(mut message: Value, id: Value) -> Value {
    message["id"] = id;
    message
}

fn without_id(mut message: Value) -> Value {
    if let Some(fields) = message.as_object_mut() {
        fields.remove("id");
    }
    message
}
