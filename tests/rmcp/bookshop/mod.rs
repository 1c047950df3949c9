//! The Bookshop from its clients' side, over stdio and HTTP: the messages on the wire, and the log.

mod answers;
mod crashes;
mod end;
mod moments;
mod repeats;
mod resources;
mod signals;
mod sleep;
mod unread;
