//! What a client writes, read so that each request which carries an id gets an answer under it.
//!
//! rmcp drops a line that is no JSON, and answers one that is no message without its id: the client waits.
//! Here whatever has an id is run or refused. This folder knows messages and bytes; it knows no handler.
//!
//! # What is read, and as what
//!
//! A *call* is `tools/call`, `resources/read` or `prompts/get`. One that is refused goes through the stack all
//! the same, and leaves its line in the log; any other request is refused here.
//!
//! | What comes | Is |
//! |---|---|
//! | `jsonrpc` missing or another version, null members, `"params": null`, a byte order mark | as if it were right |
//! | a batch, several messages on a line, JSON as a text in JSON | each message, answered on a line of its own |
//! | an id as a float, or of more than 64 bits | run; the answer has the id as it was written |
//! | an id that is null, a boolean, an array or an object | -32600 under it (under null, if it is longer than 256 bytes) |
//! | `method` missing, or no string | -32600 |
//! | `id`, `method` or `params` twice, and different | -32600 under the first id |
//! | `params` or `_meta` that is no object | -32602 |
//! | a number beyond `f64`, half of a surrogate pair, more than about 120 levels | -32602 |
//! | broken JSON, no UTF-8, more than 16 MiB | -32600, if a scan finds the id |
//! | a notification with `"id": null`, or whose `params` are no object | mended |
//! | JSON that is no message and has no id; an empty batch | told; one -32600 with the id null for a line |
//! | anything else without an id | told |
//! | a call without an id | told, and not run |
//! | an answer of the client that cannot be read | ends its request with an error |
//! | a last line without its end | read, if it is complete; else told |
//!
//! *Told* is an event, at most ten a second: the length, and how it begins. Numbers are not made finite here:
//! a call would run with other arguments than were sent. A batch is read since the revision 2025-03-26 has
//! them; rmcp has none, and so no list of answers.

mod ids;
mod raw;
mod read;
mod refused;
mod text;
mod transport;
mod writer;

pub use self::transport::LineTransport;
pub(super) use self::{ids::CameAs, refused::Refused};
