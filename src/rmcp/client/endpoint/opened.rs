use super::{body::Body, parser::Parsed};
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use reqwest::Response;
use sse_stream::Error as SseError;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// A stream, and whether anything came since the last look: an event may take long.
pub(super) struct Opened {
    pub(super) events: BoxStream<'static, Result<Parsed, SseError>>,
    is_alive: Arc<AtomicBool>,
}

/// The events of a body.
pub(super) fn of(response: Response) -> Opened {
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
