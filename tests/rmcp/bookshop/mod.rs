//! The Bookshop as its clients see it, over stdio and over HTTP: what is on the wire, and what is
//! in the log.

mod answers;
mod crashes;
mod end;
mod moments;
mod repeats;
mod resources;
mod signals;
mod sleep;
mod unread;
