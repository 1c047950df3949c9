//! Reads the messages of a server, so that no call waits for an answer that has arrived.
//!
//! rmcp drops a line that it cannot read, and the call waits for its limit. Here the id in the line
//! ends the call. This folder depends on no client and no connection.
//!
//! # What is read, and as what
//!
//! One table for lines of stdio, JSON bodies and event data. *Running* means that the id is that of a
//! waiting request. Every outermost object of a text is examined. Other text around it is ignored.
//!
//! An *answer* has a `result` or an `error`, or no `method`. Without `jsonrpc`, it has only those
//! members and `id`: servers log JSON to stdout, and an `id` there may be anything.
//!
//! | What comes | Is |
//! |---|---|
//! | bytes that are not UTF-8, halves of surrogate pairs | read with replacement characters |
//! | a message over several lines | that message |
//! | names in another case (`ID`, `Result`) | those names |
//! | a byte order mark | skipped |
//! | a list of messages (a batch) | each of them |
//! | several messages on a line | each of them |
//! | an answer, and other text before or after it | the answer; the rest is reported |
//! | a broken message, and others | the others too |
//! | a text in JSON that holds JSON | that JSON |
//! | a `result` or an `error`, and a `method` | an answer |
//! | a null member (`"error": null`, `"method": null`) | absent |
//! | `jsonrpc` missing or another version | ignored |
//! | an id as a text or a float, or alone in a list or an object | the same id |
//! | an id of another type (`true`, 1.5, `{}`), and one request that waits | unreadable |
//! | a number that no `f64` holds (`1e400`) | 1.7e308, and a warning |
//! | a result, and an empty error: `false`, 0, `""`, `"null"`, `[]`, or an object of such | the result |
//! | an empty error alone | unreadable |
//! | an error, and a result that is `false`, 0, `""`, `[]` or `{}` | the error |
//! | a result and an error | unreadable |
//! | the same member twice with the same value | once |
//! | `id`, `result` or `error` twice, and different | unreadable |
//! | neither a result nor an error | unreadable |
//! | an error that is a text or another value | an error with that text, code 0 |
//! | an error code as a float or a text with a number | that code |
//! | an error code that is missing or out of range | code 0; a word as code stands in `data.code` unless there is `data` |
//! | an error message that is not a text | its JSON |
//! | an error without a message | the JSON of its other members, or `the server gave no message` |
//! | a result that is not an object | unreadable; `{}` for requests whose result has no members, such as `ping` |
//! | a result of a tool without `content`, `structuredContent` or a flag that is true | unreadable, since rmcp takes it for a success |
//! | `content` of a tool as a text or as one block; a text in it | a list of one block; a text block |
//! | `isError` as `"true"`, `"false"`, 1 or 0 | the flag; another value: unreadable |
//! | such a flag under `is_error`, `IsError` and the like | the flag |
//! | a block that rmcp cannot read | without `annotations` and `_meta`, if that helps; else a text block that names its type and the reason |
//! | no block can be read, and there is no `structuredContent` | unreadable |
//! | invalid JSON, the syntax of another language (`{'id': 1}`), nested deeper than 127, longer than 16 MiB, more than 1,048,576 values, more than 1,024 members of the message itself | unreadable, if a scan finds a running id |
//! | a request or a notification without `jsonrpc`, with null members, or a notification whose `params` are not an object | repaired |
//! | a notification with an id, or with a `_meta` that is not an object | that notification |
//! | `tools/listChanged` and the like | `notifications/tools/list_changed` |
//! | an unreadable request | refused with -32600 and its id |
//! | a line without its end, followed by silence or the end of the stream | read, if its objects are complete |
//!
//! *Unreadable* ends its call at once: [`InvalidOutput`](crate::Class::InvalidOutput), `Executed`, with the
//! reason, the length and the beginning of the text as its [source](Unreadable). The connection is kept.
//!
//! Any other text without the id of a running request is not an answer. It is an event, at most ten a
//! second, and in the failure of a call that times out or is lost meanwhile. A text is reported once,
//! with the number of its pieces, and holds at most 4,096 messages.
//!
//! # Over HTTP
//!
//! A request is alone with its answer, so a result or an error without an id is its answer. A
//! complete body without an answer is unreadable. An event of any kind is the answer if it has the
//! id. Other events are skipped, except for the kinds `message` and `error`. If the stream then ends
//! normally without an answer, and some event looked like JSON, that event is unreadable. So is a
//! complete body that has no events, such as a page of a proxy. A body or a stream that breaks off is
//! lost instead, unless its answer is complete.
//!
//! | What comes | Is |
//! |---|---|
//! | JSON with the content type of events, or events with that of JSON | that JSON, those events |
//! | a complete answer, after which the body breaks off or stays open in silence | the answer |
//! | status 202 or 204, and an answer | the answer |
//! | status 202 or 204 without one, if no other stream can bring it | unreadable |

mod answer;
mod asked;
mod content;
mod error;
mod literal;
mod message;
mod outline;
mod read;
mod result;
mod stdio;
mod surrogates;
mod unread;
mod unreadable;

#[cfg(feature = "rmcp-client-http")]
pub(super) use self::{
    asked::{Among, Anyone, Asked},
    error::read as read_error,
    read::{Found, read},
};
pub(super) use self::{
    message::refusal,
    stdio::{NotWritten, Stdio},
    unread::Unread,
};
#[cfg(feature = "rmcp-client-http")]
pub(super) use crate::rmcp::wire::LONGEST;
pub(super) use crate::rmcp::wire::{Long, Unreadable};
