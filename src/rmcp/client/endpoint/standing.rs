//! The standing stream, for messages of the server's own.

use super::{
    HttpError,
    body::Opened,
    events::{Events, event},
    get::Get,
    parser::Parsed,
};
use crate::{
    failure::Failure,
    rmcp::client::wire::{Anyone, Found, Unread, read},
};
use ::rmcp::transport::streamable_http_client::StreamableHttpError;
use futures_util::{StreamExt, stream};
use sse_stream::{Error as SseError, Sse};
use std::{collections::VecDeque, time::Duration};
use tokio::time::{self, Instant};

/// The shortest pause before the stream is opened again. It doubles up to 30 s while the stream
/// delivers no event.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause, unless the server asked for more.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often in a row the stream asks the source of credentials without success, since a source may
/// ask a person. After that, the stream uses the token that calls have renewed.
const QUESTIONS: u32 = 3;

/// A stream that lasted this long may have been ended by a proxy because of silence.
const LASTED: Duration = Duration::from_secs(20);

/// Opens the stream again as long as it has a reader.
///
/// `opened` is the result of the first try.
pub(super) fn of(
    opened: Result<Opened, StreamableHttpError<HttpError>>,
    get: Get,
    unread: Unread,
) -> Events {
    let mut standing = Standing {
        get,
        unread,
        found: VecDeque::new(),
        opened: None,
        had_one: false,
        last_id: None,
        asked_for: Duration::ZERO,
        asked_once: Duration::ZERO,
        failures: 0,
        unanswered: 0,
    };
    match opened {
        Ok(opened) => standing.begin(opened),
        Err(error) => standing.failed(error),
    }
    stream::unfold(standing, |mut standing| async {
        let event = standing.next().await?;
        Some((Ok::<_, SseError>(event), standing))
    })
    .boxed()
}

struct Standing {
    get: Get,
    unread: Unread,
    /// Messages that are not passed on yet.
    found: VecDeque<Sse>,
    /// The stream, and its start.
    opened: Option<(Opened, Instant)>,
    had_one: bool,
    last_id: Option<String>,
    /// The pause that the server asks for, in general and this time.
    asked_for: Duration,
    asked_once: Duration,
    /// Attempts in a row without an event.
    failures: u32,
    /// Tries in a row that were refused because of their credentials.
    unanswered: u32,
}

impl Standing {
    async fn next(&mut self) -> Option<Sse> {
        loop {
            if let Some(event) = self.found.pop_front() {
                return Some(event);
            }
            let Some((opened, since)) = &mut self.opened else {
                time::sleep(self.pause()).await;
                self.open().await?;
                continue;
            };
            match opened.events.next().await {
                Some(Ok(Parsed::Event(mut event))) => {
                    self.last_id = event.id.take().or(self.last_id.take());
                    if let Some(pause) = event.retry.take() {
                        self.asked_for = Duration::from_millis(pause);
                    }
                    let data = event.data.filter(|data| !data.is_empty());
                    if let Some(data) = data {
                        self.failures = 0;
                        self.take(data, event.event.as_deref());
                    }
                }
                Some(Ok(Parsed::Long(long))) => {
                    for found in long.read(&mut Anyone) {
                        self.keep(found);
                    }
                }
                Some(Ok(Parsed::Other(_))) => {}
                Some(Err(_)) | None => {
                    if since.elapsed() >= LASTED {
                        self.failures = 0;
                    }
                    self.opened = None;
                }
            }
        }
    }

    /// An event of another kind is a message, or nothing.
    fn take(&mut self, data: String, kind: Option<&str>) {
        let is_message = matches!(kind, None | Some("" | "message"));
        for found in read(data.as_bytes(), &mut Anyone) {
            match found {
                Found::Answer { is_whole: true, .. } => {
                    self.found.push_back(Sse {
                        data: Some(data),
                        ..Sse::default()
                    });
                    return;
                }
                Found::Unreadable(_) if !is_message => {}
                found => self.keep(found),
            }
        }
    }

    fn keep(&mut self, found: Found) {
        match found {
            // rmcp knows which requests wait.
            Found::Message(message) | Found::Answer { message, .. } => {
                self.found.push_back(event(&message));
            }
            Found::Foreign => {}
            Found::Unreadable(unreadable) => self.unread.tell(unreadable),
        }
    }

    /// Tries once. `None` if the server has no such stream.
    async fn open(&mut self) -> Option<()> {
        self.failures = self.failures.saturating_add(1);
        match self.get.events(self.last_id.clone()).await {
            Ok(opened) => self.begin(opened),
            Err(StreamableHttpError::ServerDoesNotSupportSse) => {
                // A proxy may answer so for a server that has one.
                if !self.had_one {
                    tracing::debug!("the tool server has no standing stream");
                    return None;
                }
            }
            Err(error) => self.failed(error),
        }
        Some(())
    }

    fn begin(&mut self, opened: Opened) {
        self.opened = Some((opened, Instant::now()));
        self.had_one = true;
        self.asked_once = Duration::ZERO;
        self.unanswered = 0;
        self.get.renews = true;
    }

    fn failed(&mut self, error: StreamableHttpError<HttpError>) {
        self.asked_once = match &error {
            StreamableHttpError::Client(error) => error.wait().unwrap_or_default(),
            _ => Duration::ZERO,
        };
        let is_challenge =
            matches!(&error, StreamableHttpError::Client(error) if error.is_challenge());
        if is_challenge {
            self.unanswered = self.unanswered.saturating_add(1);
            self.get.renews = self.unanswered < QUESTIONS;
        }
        let failure = Failure::connection("the standing stream is not open");
        let failure = failure.because(error);
        tracing::debug!(error = %failure.chain(), "tries again after a pause");
    }

    fn pause(&self) -> Duration {
        let doubled = PAUSE.saturating_mul(2_u32.saturating_pow(self.failures.min(10)));
        let pause = doubled.min(LONGEST_PAUSE);
        pause.max(self.asked_for).max(self.asked_once)
    }
}
