use super::{
    came::Came,
    line::{Line, Named, Unnamed, declared},
};
use ::tower_mcp::{RouterRequest, protocol::RequestId};
use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, ReadBuf};

/// How many calls, or lines, and how many bytes of calls may wait for their turn. Lines count also if they
/// have no call, since they wait for their errors. If there are more, the oldest are forgotten, but never
/// the latest.
const MOST: usize = 1 << 14;
const MOST_BYTES: usize = 16 << 20;

/// The calls that came over stdio and have not reached the stack, as they were written.
///
/// tower-mcp keeps only the known members of `_meta`, and answers a call by itself that it cannot
/// read. So the calls are noted before it.
#[derive(Clone, Default)]
pub(super) struct Incoming(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Line>,
    calls: usize,
    bytes: usize,
}

impl Incoming {
    /// The call that has come to the stack with this request.
    ///
    /// Other calls with its id may be there: some that wait for their turn, and some that tower-mcp
    /// refuses. They keep their keys. With `keys_count`, this also holds if the request's own call has been
    /// forgotten.
    pub(super) fn take_request(&self, request: &RouterRequest, keys_count: bool) -> Option<Came> {
        let mut waiting = self.lock();
        let may_be = |line: &Line, call: &Came| !line.is_refused() && call.has_id(&request.id);
        let lines = waiting.lines.iter();
        let calls = lines.flat_map(|line| line.calls.iter().filter(move |call| may_be(line, call)));
        let is_sure = only(calls).is_some_and(|call| !(keys_count && call.may_have_key()));
        waiting.take_latest(|line, call| may_be(line, call) && (is_sure || call.is(request)))
    }

    /// The call that tower-mcp has refused by this error with its id.
    ///
    /// The oldest such call, since tower-mcp answers them in their order. One that declares its revision
    /// comes first, since the revision of the others is that of the session.
    pub(super) fn take_named(&self, id: &RequestId, error: Named<'_>) -> Option<Came> {
        let mut waiting = self.lock();
        let calls = waiting.reached().enumerate().flat_map(|(at, line)| {
            let calls = line.calls.iter().enumerate();
            let calls =
                calls.filter(move |(_, call)| call.has_id(id) && line.may_get_named(call, error));
            calls.map(move |(place, call)| (at, place, call))
        });
        let first = calls.min_by_key(|(.., call)| declared(&call.read()).is_none());
        let (at, place, _) = first?;
        waiting.take_call(at, place)
    }

    /// The calls of the line that has this error for its answer.
    ///
    /// A line that is sure to be refused comes first. tower-mcp answers such lines in their order. So
    /// each of them is taken at the latest by its own error, and a batch is taken only if no other line
    /// accounts for the error.
    ///
    /// The error of a batch without calls, which is not noted, may take a batch that waits for its turn
    /// since an earlier session. That one is refused too, unless the client begins a third session before
    /// its turn.
    pub(super) fn take_unnamed(&self, error: Unnamed<'_>) -> VecDeque<Came> {
        let mut waiting = self.lock();
        let at = |is_refused: bool| {
            let mut lines = waiting.reached();
            lines.position(|line| line.is_refused() == is_refused && line.may_get(error))
        };
        let line = at(true).or_else(|| at(false));
        let line = line.and_then(|at| waiting.take_line(at));
        line.map(|line| line.calls).unwrap_or_default()
    }

    /// The request with this id has its answer. If it is the one to begin a session, lines after it have
    /// been reached.
    pub(super) fn reach(&self, id: &RequestId) {
        let mut waiting = self.lock();
        let mut lines = waiting.lines.iter().enumerate();
        let first = lines.find_map(|(at, line)| Some((at, line.begins()?)));
        if let Some((at, _)) = first.filter(|(_, begins)| *begins == id) {
            waiting.take_line(at);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().lines.is_empty()
    }

    /// A reader that also notes the calls.
    pub(super) fn reading<R>(&self, reader: R) -> IncomingReader<R> {
        IncomingReader {
            reader,
            incoming: self.clone(),
            line: Vec::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn add(&mut self, line: Line) {
        self.calls += line.calls.len();
        self.bytes += bytes(&line);
        self.lines.push_back(line);
        while self.calls.max(self.lines.len()) > 1
            && (self.calls.max(self.lines.len()) > MOST || self.bytes > MOST_BYTES)
        {
            self.forget_oldest();
        }
    }

    /// The lines that may have been answered: those before a request to begin a session, which is not
    /// answered yet.
    fn reached(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().take_while(|line| line.begins().is_none())
    }

    fn take_latest(&mut self, is_wanted: impl Fn(&Line, &Came) -> bool) -> Option<Came> {
        let lines = self.lines.iter().enumerate().rev();
        let (line, call) = lines.into_iter().find_map(|(at, line)| {
            let mut calls = line.calls.iter();
            let call = calls.rposition(|call| is_wanted(line, call))?;
            Some((at, call))
        })?;
        self.take_call(line, call)
    }

    fn take_call(&mut self, at: usize, call: usize) -> Option<Came> {
        let line = self.lines.get_mut(at)?;
        let call = line.calls.remove(call)?;
        self.calls -= 1;
        self.bytes -= call.request.len();
        if line.calls.is_empty() {
            self.lines.remove(at);
        }
        Some(call)
    }

    fn take_line(&mut self, at: usize) -> Option<Line> {
        let line = self.lines.remove(at)?;
        self.calls -= line.calls.len();
        self.bytes -= bytes(&line);
        Some(line)
    }

    fn forget_oldest(&mut self) {
        if self.take_call(0, 0).is_none() {
            self.take_line(0);
        }
    }
}

fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next();
    first.filter(|_| items.next().is_none())
}

fn bytes(line: &Line) -> usize {
    line.calls.iter().map(|call| call.request.len()).sum()
}

/// Passes on what it reads, and notes the calls first.
pub(super) struct IncomingReader<R> {
    reader: R,
    incoming: Incoming,
    // The current line so far.
    line: Vec<u8>,
}

impl<R> IncomingReader<R> {
    fn note(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(line) = Line::read(&line) {
            self.incoming.lock().add(line);
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for IncomingReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(cx, buffer))?;
        if buffer.filled().len() == before && buffer.remaining() > 0 {
            // The end, also of a last line without its newline.
            self.note();
        }
        for part in buffer.filled()[before..].split_inclusive(|byte| *byte == b'\n') {
            // As long as it is: tower-mcp keeps all of it, too.
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.note();
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests;
