//! Properties of every input. Each check panics if its property does not hold.

#[path = "../../core/support/call.rs"]
#[allow(dead_code, reason = "other tests need more of it than these")]
mod call;
mod envelope;
mod line;
mod wait;

pub(crate) use self::{
    call::{Answer, Call},
    envelope::{Parts, classify},
    line::{End, Story},
    wait::{amounts, number, text},
};

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

/// The output of a future that is ready at once.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut cx) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits for something"),
    }
}

/// The parts of an input that is bytes, as a fuzzer makes them: what lies between the bytes 0xff,
/// which no text has.
pub(crate) fn pieces(data: &[u8]) -> impl Iterator<Item = String> {
    data.split(|byte| *byte == 0xff)
        .map(|piece| String::from_utf8_lossy(piece).into_owned())
}

/// JSON, or else a string.
pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}
