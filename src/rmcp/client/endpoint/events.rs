//! The stream of events that answers one request.

use super::{HttpError, body::Opened, get::Get, parser::Parsed};
use crate::rmcp::client::wire::{Among, Asked, Found, Long, Unread, Unreadable, read};
use ::rmcp::{model::ServerJsonRpcMessage, transport::streamable_http_client::StreamableHttpError};
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use sse_stream::{Error as SseError, Sse};
use std::{collections::VecDeque, mem, time::Duration};
use tokio::time;

pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// How often in a row a stream is resumed without anything new.
const RESUMES: u32 = 3;

/// The pause before resuming a stream that the server closed, if it asks for no other.
const PAUSE: Duration = Duration::from_secs(1);

/// The same for a stream that broke off. The server has to notice that first; otherwise it takes the
/// new stream for the old one and ends it. No pause is shorter.
const BREAK: Duration = Duration::from_millis(200);

/// How long a resumed stream may be silent before it is resumed again. Some servers send what they
/// have at that time, and no more.
const SILENCE: Duration = Duration::from_secs(3);

/// Messages as events, as they came in one body.
pub(super) fn of_messages(messages: Vec<ServerJsonRpcMessage>) -> Events {
    let events = messages.into_iter().map(|message| Ok(event(&message)));
    stream::iter(events.collect::<Vec<_>>()).boxed()
}

/// The events of the answer to one request, resumed if possible. rmcp gets only messages, and nothing
/// to resume.
pub(super) fn of_answer(opened: Opened, get: Get, asked: Asked, unread: Unread) -> Events {
    let answer = Answer {
        opened,
        get,
        asked,
        unread,
        found: VecDeque::new(),
        last_id: None,
        pause: PAUSE,
        resumes: 0,
        is_resumed: false,
        is_done: false,
        in_its_place: None,
    };
    stream::unfold(answer, |mut answer| async {
        let event = answer.next().await?;
        Some((event, answer))
    })
    .boxed()
}

struct Answer {
    opened: Opened,
    get: Get,
    asked: Asked,
    unread: Unread,
    // Messages that are not passed on yet.
    found: VecDeque<Sse>,
    last_id: Option<String>,
    pause: Duration,
    // In a row, without anything new in between.
    resumes: u32,
    is_resumed: bool,
    is_done: bool,
    // A text that may be meant as the answer.
    in_its_place: Option<Unreadable>,
}

impl Answer {
    async fn next(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            if let Some(event) = self.found.pop_front() {
                return Some(Ok(event));
            }
            match self.event().await {
                Some(Ok(Parsed::Event(event))) => self.take(event),
                Some(Ok(Parsed::Long(long))) => self.take_long(long),
                Some(Ok(Parsed::Other(text))) => self.take_text(&text),
                // Broken off: the server may have the rest.
                Some(Err(error)) => {
                    if !self.resume(BREAK).await {
                        return Some(Err(error));
                    }
                }
                // Closed: some servers save connections in this way.
                None => {
                    if !self.resume(self.pause).await {
                        return self.end().map(Ok);
                    }
                }
            }
        }
    }

    /// The next event of the stream, or its end. A silent resumed stream is replaced, as long as a
    /// new one may bring the answer.
    async fn event(&mut self) -> Option<Result<Parsed, SseError>> {
        loop {
            let next = self.opened.events.next();
            if !self.is_resumed || self.resumes >= RESUMES {
                return next.await;
            }
            match time::timeout(SILENCE, next).await {
                Ok(next) => return next,
                Err(_) if self.opened.was_alive() => {}
                Err(_) => {
                    if !self.resume(BREAK).await {
                        return None;
                    }
                }
            }
        }
    }

    fn take(&mut self, event: Sse) {
        self.last_id = event.id.or(self.last_id.take());
        if let Some(pause) = event.retry {
            self.pause = Duration::from_millis(pause).max(BREAK);
        }
        let kind = event.event.as_deref();
        // An error has no other place, and needs no id.
        let is_message = matches!(kind, None | Some("" | "message" | "error"));
        let Some(data) = event.data.filter(|data| !data.is_empty()) else {
            return;
        };
        self.resumes = 0;
        if !is_message {
            return self.take_other(&data);
        }
        for found in read(data.as_bytes(), &mut self.among(false)) {
            if let Found::Answer { is_whole: true, .. } = found {
                self.is_done = true;
                let data = Some(data);
                return self.found.push_back(Sse {
                    data,
                    ..Sse::default()
                });
            }
            self.keep(found, &data);
        }
    }

    fn among(&self, needs_id: bool) -> Among<'_> {
        Among {
            asked: &self.asked,
            needs_id,
        }
    }

    /// An event of another kind counts only as the answer, if it has the id.
    fn take_other(&mut self, data: &str) {
        for found in read(data.as_bytes(), &mut self.among(true)) {
            if let Found::Answer { .. } = found {
                self.keep(found, data);
            }
        }
    }

    fn take_long(&mut self, long: Long) {
        self.resumes = 0;
        for found in long.read(&mut &self.asked) {
            self.keep(found, "");
        }
    }

    /// A complete body without events came in place of the answer.
    fn take_text(&mut self, text: &str) {
        let text = Unreadable::new("it is neither json nor events", text);
        self.in_its_place.get_or_insert(text);
    }

    fn keep(&mut self, found: Found, data: &str) {
        match found {
            Found::Message(message) => self.found.push_back(event(&message)),
            // A second answer is useless.
            Found::Answer { message, .. } if !self.is_done => {
                self.is_done = true;
                self.found.push_back(event(&message));
            }
            Found::Answer { .. } => {}
            Found::Foreign => {
                let foreign = Unreadable::new("it is the answer to another request", data);
                self.unread.tell(foreign.clone());
                self.in_its_place = Some(foreign);
            }
            Found::Unreadable(unreadable) => {
                self.unread.tell(unreadable.clone());
                if unreadable.looks_like_json() {
                    self.in_its_place = Some(unreadable);
                }
            }
        }
    }

    /// The stream has ended normally. A text in place of the answer ends the request.
    fn end(&mut self) -> Option<Sse> {
        let unreadable = self.in_its_place.take().filter(|_| !self.is_done)?;
        self.is_done = true;
        Some(event(&unreadable.answer(&self.asked)))
    }

    /// Returns whether there is a stream again.
    async fn resume(&mut self, pause: Duration) -> bool {
        let mut pause = pause;
        while !self.is_done && self.resumes < RESUMES {
            let Some(last_id) = self.last_id.clone() else {
                return false;
            };
            self.resumes += 1;
            // The old one first: a server may allow only one.
            drop(mem::replace(
                &mut self.opened.events,
                stream::empty().boxed(),
            ));
            time::sleep(pause).await;
            match self.get.events(Some(last_id)).await {
                Ok(opened) => {
                    self.opened = opened;
                    self.is_resumed = true;
                    return true;
                }
                // An old stream blocks the new one, or the server has an error.
                Err(StreamableHttpError::Client(error @ HttpError::Status(_))) => {
                    pause = error.wait().unwrap_or_default().max(PAUSE);
                }
                // A server that cannot be reached, or does not know the stream, will not know it
                // later.
                Err(_) => return false,
            }
        }
        false
    }
}

pub(super) fn event(message: &ServerJsonRpcMessage) -> Sse {
    Sse {
        data: serde_json::to_string(message).ok(),
        ..Sse::default()
    }
}
