use super::{
    Unreadable,
    answer::{self, Answer},
    asked::{Asked, Pending},
    piece::{Members, Piece},
    scan::Scan,
};
use crate::json;
use ::rmcp::model::ServerJsonRpcMessage;
use serde_json::Value;

/// What a text of the server holds.
#[derive(Debug)]
pub(in crate::rmcp::client) enum Found {
    /// A request or a notification of the server.
    Message(ServerJsonRpcMessage),
    /// The answer to a request that waits. One that cannot be read is an error that says so, and then
    /// also here.
    Answer {
        message: ServerJsonRpcMessage,
        /// Whether the text that it came as says the same to rmcp.
        is_whole: bool,
    },
    /// An answer to a request that does not wait.
    Foreign(ServerJsonRpcMessage),
    /// No message, or none of a request that waits.
    Unreadable(Unreadable),
}

/// Reads a whole line, body or event.
pub(in crate::rmcp::client) fn read(bytes: &[u8], pending: &mut impl Pending) -> Vec<Found> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim();
    let mut found = Vec::new();
    if text.is_empty() {
        return found;
    }
    if !text.starts_with(['{', '[']) {
        let unreadable = Unreadable::new("it is no json-rpc message", text);
        return vec![Found::Unreadable(unreadable)];
    }
    let mut pieces = serde_json::Deserializer::from_str(text).into_iter::<Piece>();
    loop {
        let begin = pieces.byte_offset();
        match pieces.next() {
            None => return found,
            Some(Ok(piece)) => {
                // rmcp reads neither several messages in a text nor a byte order mark.
                let is_alone = begin == 0
                    && pieces.byte_offset() == text.len()
                    && text.len() == bytes.trim_ascii().len();
                let piece_text = &text[begin..pieces.byte_offset()];
                of_piece(piece, piece_text, is_alone, pending, &mut found);
            }
            Some(Err(error)) => {
                let rest = text[begin..].trim_start();
                if let Some(readable) = json::finite(rest).filter(|text| is_failure(text)) {
                    let again = read(readable.as_bytes(), pending);
                    found.extend(again.into_iter().map(not_whole));
                    return found;
                }
                let reason = format!("it is no json: {error}");
                let id = Scan::of(rest.as_bytes()).id();
                let asked = id.and_then(|id| pending.take(Some(&id)));
                found.push(broken(&reason, rest, rest.len(), asked.as_ref()));
                return found;
            }
        }
    }
}

/// Whether a message tells of a failure: a number in one may be changed to read the rest of it, while
/// results go on as they came.
fn is_failure(text: &str) -> bool {
    let message: Option<Value> = serde_json::from_str(text).ok();
    message.is_some_and(|message| {
        let is_flagged = message.pointer("/result/isError") == Some(&Value::Bool(true));
        is_flagged || (message.get("error").is_some() && message.get("result").is_none())
    })
}

/// The same, read from another text than the one that came.
fn not_whole(found: Found) -> Found {
    match found {
        Found::Answer { message, .. } => Found::Answer {
            message,
            is_whole: false,
        },
        other => other,
    }
}

/// A text that is no JSON, or of which only the beginning was kept; it ends the request it belongs to.
pub(super) fn broken(reason: &str, beginning: &str, length: usize, asked: Option<&Asked>) -> Found {
    let unreadable = Unreadable::of_length(reason, beginning, length);
    match asked {
        Some(asked) => Found::Answer {
            message: unreadable.answer(asked),
            is_whole: false,
        },
        None => Found::Unreadable(unreadable),
    }
}

fn of_piece(
    piece: Piece,
    text: &str,
    is_alone: bool,
    pending: &mut impl Pending,
    found: &mut Vec<Found>,
) {
    match piece {
        Piece::Object(members) => {
            let one = of_object(members, text, pending);
            found.push(match one {
                Found::Answer { message, is_whole } => Found::Answer {
                    message,
                    is_whole: is_whole && is_alone,
                },
                other => other,
            });
        }
        Piece::List(items) => {
            for item in items {
                of_piece(item, text, false, pending, found);
            }
        }
        Piece::Scalar => {
            let unreadable = Unreadable::new("it is no json-rpc message", text);
            found.push(Found::Unreadable(unreadable));
        }
    }
}

fn of_object(members: Members, text: &str, pending: &mut impl Pending) -> Found {
    let unreadable = |reason: &str| Found::Unreadable(Unreadable::new(reason, text));
    if members.has("method") {
        return match serde_json::from_value(members.into_value()) {
            Ok(message) => Found::Message(message),
            Err(error) => unreadable(&format!("it is no message of mcp: {error}")),
        };
    }
    if !members.is_message() {
        return unreadable("it is no json-rpc message");
    }
    let asked = if members.has("id") {
        let mut ids = members.all("id");
        ids.find_map(|id| pending.take(Some(id)))
    } else {
        pending.take(None)
    };
    let Some(asked) = asked else {
        if !members.has("id") {
            return unreadable("it is an answer without an id");
        }
        return match serde_json::from_value(members.into_value()) {
            Ok(message) => Found::Foreign(message),
            Err(_) => unreadable("it is an answer to no request that waits"),
        };
    };
    match answer::read(members, &asked) {
        Ok(Answer { message, is_whole }) => Found::Answer { message, is_whole },
        Err(reason) => Found::Answer {
            message: Unreadable::new(reason, text).answer(&asked),
            is_whole: false,
        },
    }
}
