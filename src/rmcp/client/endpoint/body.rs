use super::{
    HttpError,
    answer::SILENCE,
    parser::{Parsed, Parser},
};
use futures_util::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use reqwest::Response;
use sse_stream::Error as SseError;
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use tokio::time::timeout;

/// A stream, and whether anything came since the last look: an event may take long.
pub(super) struct Opened {
    pub(super) events: BoxStream<'static, Result<Parsed, SseError>>,
    is_alive: Arc<AtomicBool>,
}

/// The events of a body.
pub(super) fn open(response: Response) -> Opened {
    let is_alive = Arc::<AtomicBool>::default();
    let chunks = Box::pin(response.bytes_stream());
    let body = Body::new(chunks, Arc::clone(&is_alive));
    let events = stream::unfold(body, |mut body| async {
        let event = body.next().await?;
        Some((event, body))
    });
    Opened {
        events: events.boxed(),
        is_alive,
    }
}

impl Opened {
    /// Whether anything came since the last call.
    pub(super) fn was_alive(&self) -> bool {
        self.is_alive.swap(false, Relaxed)
    }
}

/// A body, divided into events.
///
/// An event without its empty line counts if silence or the end of the body follows, even if the body
/// breaks off.
struct Body<S> {
    /// `None` after its end.
    chunks: Option<S>,
    parser: Parser,
    parsed: VecDeque<Result<Parsed, SseError>>,
    /// Something came since the beginning of an event was examined.
    is_new: bool,
    is_alive: Arc<AtomicBool>,
}

impl<S, B> Body<S>
where
    S: Stream<Item = reqwest::Result<B>> + Unpin,
    B: AsRef<[u8]>,
{
    /// Notes in `is_alive` that something came.
    fn new(chunks: S, is_alive: Arc<AtomicBool>) -> Self {
        Self {
            chunks: Some(chunks),
            parser: Parser::default(),
            parsed: VecDeque::new(),
            is_new: false,
            is_alive,
        }
    }

    /// The next event. `None` after the end. Dropping the future loses nothing.
    async fn next(&mut self) -> Option<Result<Parsed, SseError>> {
        loop {
            if let Some(parsed) = self.parsed.pop_front() {
                return Some(parsed);
            }
            let next = self.chunks.as_mut()?.next();
            let chunk = if self.is_new && self.parser.is_begun() {
                let Ok(chunk) = timeout(SILENCE, next).await else {
                    self.is_new = false;
                    self.parsed.extend(self.parser.whole().map(Ok));
                    continue;
                };
                chunk
            } else {
                next.await
            };
            match chunk {
                Some(Ok(chunk)) => {
                    self.is_new = true;
                    self.is_alive.store(true, Relaxed);
                    let parsed = self.parser.push(chunk.as_ref());
                    self.parsed.extend(parsed.into_iter().map(Ok));
                }
                end => {
                    self.chunks = None;
                    self.parsed.extend(self.parser.whole().map(Ok));
                    if end.is_none() {
                        self.parsed.extend(self.parser.other().map(Ok));
                    }
                    let error = end.and_then(Result::err).map(HttpError::from);
                    let error = error.map(|error| Err(SseError::Body(Box::new(error))));
                    self.parsed.extend(error);
                }
            }
        }
    }
}
