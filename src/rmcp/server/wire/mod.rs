//! Reads the messages of a client, so that each request with an id gets an answer with that id.
//!
//! rmcp drops a line that is not JSON, and answers an invalid message without its id, so the client
//! waits. Here every message with an id is run or refused. This folder depends on no handler.
//!
//! # What is read, and as what
//!
//! A *call* is `tools/call`, `resources/read` or `prompts/get`. A refused call still goes through the
//! stack, and leaves its line in the log. Any other request is refused here.
//!
//! | What comes | Is |
//! |---|---|
//! | `jsonrpc` missing or another version, null members, `"params": null`, a byte order mark | as if it were right |
//! | a batch, several messages on a line, JSON as a text in JSON | each message, answered on a line of its own |
//! | an id as a float, or of more than 64 bits | run; the answer has the id as it was written |
//! | an id that is null, a boolean, an array or an object | -32600 with it (with null, if it is longer than 256 bytes) |
//! | `method` missing, or not a string | -32600 |
//! | `id`, `method` or `params` twice, and different | -32600 with the first id |
//! | `params` or `_meta` that is not an object | -32602 |
//! | a number beyond `f64`, half of a surrogate pair, more than about 120 levels | -32602 |
//! | invalid JSON or UTF-8, more than 16 MiB | -32600, if a scan finds the id |
//! | a notification with `"id": null`, or whose `params` are not an object | repaired |
//! | JSON without an id that is not a message; an empty batch | reported; one -32600 with the id null for a line |
//! | anything else without an id | reported |
//! | a call without an id | reported, and not run |
//! | an unreadable answer of the client | ends its request with an error |
//! | a last line without its end | read, if it is complete; else reported |
//!
//! *Reported* means an event, at most ten a second, with the length and the beginning. Numbers are
//! not made finite: a call would run with other arguments than were sent. A batch is read because the
//! revision 2025-03-26 has batches. rmcp does not know them, so the answers are not a list.

mod ids;
mod read;
mod refused;
mod text;
mod transport;
mod writer;

pub use self::transport::LineTransport;
pub(super) use self::{ids::CameAs, refused::Refused};
