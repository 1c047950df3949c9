//! The stream of events that answers one request, and the standing one.

use super::{HttpError, answer, backend::Get, size::Size};
use ::rmcp::{model::RequestId, transport::streamable_http_client::StreamableHttpError};
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use reqwest::Response;
use serde_json::Value;
use sse_stream::{Error as SseError, Sse, SseStream};
use std::{
    io, mem,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time;

pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// A stream, and whether anything came since somebody looked: an event may be long on its way.
pub(super) struct Opened {
    pub(super) events: Events,
    is_alive: Arc<AtomicBool>,
}

/// How often in a row a stream is resumed that brings nothing new.
const RESUMES: u32 = 3;

/// The pause before a stream is resumed that the server closed, unless it asks for another.
const PAUSE: Duration = Duration::from_secs(1);

/// The same for one that broke off: the server has to see that before the new one comes, or it
/// takes that for the old one and ends it. No pause is shorter.
const BREAK: Duration = Duration::from_millis(200);

/// The longest pause that is made.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long a stream that was resumed may say nothing before it is resumed once more. Some servers
/// give what they have at that time, and no more.
const SILENCE: Duration = Duration::from_secs(3);

/// The shortest pause before the standing stream is opened again.
const STANDING: Duration = Duration::from_secs(1);

/// How long a standing stream lasts that a proxy may well end for its silence.
const LASTED: Duration = Duration::from_secs(20);

/// The events of a body. One that is too long ends it.
pub(super) fn of(response: Response) -> Opened {
    let is_alive = Arc::<AtomicBool>::default();
    let seen = Arc::clone(&is_alive);
    let mut size = Size::default();
    let bytes = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(io::Error::other)?;
        seen.store(true, Relaxed);
        size.add(&chunk)?;
        Ok::<_, io::Error>(chunk)
    });
    Opened {
        events: SseStream::from_bytes_stream(bytes).boxed(),
        is_alive,
    }
}

/// The events of the standing stream; one that brings something, or lasts, was not opened in vain.
pub(super) fn of_standing(events: Events, in_vain: Arc<AtomicU32>) -> Events {
    let opened = time::Instant::now();
    let until_it_lasted = Arc::clone(&in_vain);
    let events = events.map(move |event| {
        if opened.elapsed() >= LASTED {
            in_vain.store(0, Relaxed);
        }
        let mut event = event?;
        if event.data.as_deref().is_some_and(|data| !data.is_empty()) {
            in_vain.store(0, Relaxed);
        }
        if let Some(pause) = event.retry {
            event.retry = Some(pause.max(1000));
        }
        Ok(event)
    });
    // A server that says nothing of a pause, and closes at once, is not asked without one.
    let end = stream::once(async move {
        if opened.elapsed() >= LASTED {
            until_it_lasted.store(0, Relaxed);
        }
        time::sleep(STANDING.saturating_sub(opened.elapsed())).await;
    });
    events.chain(end.filter_map(|()| async { None })).boxed()
}

/// The events of the answer to one request, resumed where that is possible. Nothing is left in them
/// for rmcp to resume.
pub(super) fn of_answer(opened: Opened, get: Get, asked: RequestId) -> Events {
    let answer = Answer {
        opened,
        get,
        asked,
        last_id: None,
        pause: PAUSE,
        resumes: 0,
        is_resumed: false,
        is_done: false,
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
    asked: RequestId,
    last_id: Option<String>,
    pause: Duration,
    // In a row, without anything new in between.
    resumes: u32,
    is_resumed: bool,
    is_done: bool,
}

impl Answer {
    async fn next(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            match self.event().await {
                Some(Ok(mut event)) => {
                    self.last_id = event.id.take().or(self.last_id.take());
                    if let Some(pause) = event.retry.take() {
                        let pause = Duration::from_millis(pause);
                        self.pause = pause.clamp(BREAK, LONGEST_PAUSE);
                    }
                    if event.data.as_deref().is_some_and(|data| !data.is_empty()) {
                        self.resumes = 0;
                    }
                    self.look_at(&mut event);
                    return Some(Ok(event));
                }
                // Broken off: if the server is still there, it may have the rest.
                Some(Err(error)) => {
                    if !self.resume(BREAK).await {
                        return Some(Err(error));
                    }
                }
                // Closed: that is how a server saves connections.
                None => {
                    if !self.resume(self.pause).await {
                        return None;
                    }
                }
            }
        }
    }

    /// The next event of the stream, or its end. One that was resumed and then says nothing is given
    /// up for another, as long as that may bring something.
    async fn event(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            let next = self.opened.events.next();
            if !self.is_resumed || self.resumes >= RESUMES {
                return next.await;
            }
            match time::timeout(SILENCE, next).await {
                Ok(next) => return next,
                Err(_) if self.opened.is_alive.swap(false, Relaxed) => {}
                Err(_) => {
                    if !self.resume(BREAK).await {
                        return None;
                    }
                }
            }
        }
    }

    fn look_at(&mut self, event: &mut Sse) {
        let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
        let Some(data) = event.data.as_deref().filter(|_| is_message) else {
            return;
        };
        let Ok(Value::Object(mut message)) = serde_json::from_str(data) else {
            return;
        };
        if message.contains_key("method") {
            return;
        }
        let had_id = message.get("id").is_some_and(|id| !id.is_null());
        if answer::correlate(&mut message, &self.asked) {
            self.is_done = true;
            if !had_id {
                event.data = Some(Value::Object(message).to_string());
            }
        }
    }

    /// Says whether there is a stream again.
    async fn resume(&mut self, pause: Duration) -> bool {
        let mut pause = pause;
        while !self.is_done && self.resumes < RESUMES {
            let Some(last_id) = self.last_id.clone() else {
                return false;
            };
            self.resumes += 1;
            // The old one first: a server may allow one of them.
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
                // An old stream is in the way, or the server in trouble.
                Err(StreamableHttpError::Client(HttpError::Status(_))) => pause = PAUSE,
                // One that cannot be reached, or does not know the stream, will not later.
                Err(_) => return false,
            }
        }
        false
    }
}
