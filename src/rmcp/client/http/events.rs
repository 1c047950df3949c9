//! The stream of events that answers one request.

use super::{answer, backend::Get};
use ::rmcp::model::RequestId;
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use reqwest::Response;
use serde_json::Value;
use sse_stream::{Error as SseError, Sse, SseStream};
use std::{io, time::Duration};
use tokio::time;

pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The longest event that is read: as rmcp's own client does it.
const LONGEST: usize = 16 * 1024 * 1024;

/// How often a stream is resumed that brings nothing new.
const RESUMES: u32 = 3;

/// The pause before a stream is resumed that the server closed, unless it asks for another.
const PAUSE: Duration = Duration::from_secs(1);

/// The same for one that broke off: the server has to see that before the new one comes, or it
/// takes that for the old one and ends it.
const BREAK: Duration = Duration::from_millis(200);

/// How long a stream that was resumed may say nothing before it is resumed once more. Some servers
/// give what they have at that time, and no more.
const SILENCE: Duration = Duration::from_secs(3);

/// The longest pause that is made.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The events of a body. One that is too long ends it.
pub(super) fn of(response: Response) -> Events {
    let mut since_blank = 0;
    let mut last = b'\n';
    let bytes = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(io::Error::other)?;
        for byte in &chunk {
            let is_blank = matches!((last, *byte), (b'\n', b'\n') | (b'\r', b'\r'))
                || (since_blank == 2 && last == b'\r');
            since_blank = if is_blank { 0 } else { since_blank + 1 };
            last = *byte;
        }
        if since_blank > LONGEST {
            return Err(io::Error::other("an event is longer than 16 MiB"));
        }
        Ok(chunk)
    });
    SseStream::from_bytes_stream(bytes).boxed()
}

/// The events of the answer to one request, resumed where that is possible. Nothing is left in them
/// for rmcp to resume.
pub(super) fn of_answer(events: Events, get: Get, asked: RequestId) -> Events {
    let answer = Answer {
        events,
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
    events: Events,
    get: Get,
    asked: RequestId,
    last_id: Option<String>,
    pause: Duration,
    resumes: u32,
    is_resumed: bool,
    is_done: bool,
}

impl Answer {
    async fn next(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            let next = if self.is_resumed {
                time::timeout(SILENCE, self.events.next()).await
            } else {
                Ok(self.events.next().await)
            };
            let Ok(next) = next else {
                if self.open().await {
                    continue;
                }
                return None;
            };
            match next {
                Some(Ok(mut event)) => {
                    self.resumes = 0;
                    self.last_id = event.id.take().or(self.last_id.take());
                    if let Some(pause) = event.retry.take() {
                        self.pause = Duration::from_millis(pause).min(LONGEST_PAUSE);
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

    async fn resume(&mut self, pause: Duration) -> bool {
        if self.last_id.is_none() || self.is_done || self.resumes >= RESUMES {
            return false;
        }
        self.resumes += 1;
        time::sleep(pause).await;
        self.open().await
    }

    async fn open(&mut self) -> bool {
        match self.get.events(self.last_id.clone()).await {
            Ok(events) => {
                self.events = events;
                self.is_resumed = true;
                true
            }
            Err(_) => false,
        }
    }
}
