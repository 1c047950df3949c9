//! Shared by the cases: the preset with waits of known length, and the observations of one call.

use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::{
    Failure, ResilienceLayer,
    backoff::{Backoff, Jitter},
    call_log::CallLogLayer,
    policy::Policy,
    preset::{Connected, Connection, ResilienceBuilder},
    reconnect::{ReconnectBuilder, ReconnectHandle, ReconnectLayer},
    retry::{RetryBuilder, RetryLayer},
};
use serde_json::Value;
use std::{
    collections::VecDeque,
    fmt::{self, Display},
    io::{self, ErrorKind},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;
use tower::{BoxError, Layer, ServiceExt, service_fn};

pub(crate) const MS: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) type Step = Result<Answer, BoxError>;

#[expect(clippy::unnecessary_wraps, reason = "it stands where others fail")]
pub(crate) fn fine() -> Step {
    Ok(Answer::ok("fine"))
}

/// A connection that broke while a call was on it.
pub(crate) fn lost() -> Step {
    Err(io::Error::from(ErrorKind::ConnectionReset).into())
}

pub(crate) fn fails(failure: Failure) -> Step {
    Err(failure.into())
}

/// Four attempts, 100 ms doubled up to 10 s between them, no jitter, and no end but that.
pub(crate) fn retry() -> RetryBuilder {
    RetryLayer::builder()
        .max_attempts(4)
        .backoff(Backoff::new(100 * MS, 10 * SECOND).unwrap())
        .jitter(Jitter::none())
        .policy(Policy::new().no_budget().no_retry_window())
}

/// The preset with that retry.
pub(crate) fn preset(lines: &Lines, retry: RetryBuilder) -> ResilienceBuilder {
    ResilienceLayer::builder()
        .log(CallLogLayer::new(lines.clone()))
        .retry(retry.build().unwrap())
}

/// The observations of one call.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) answer: Result<Answer, Failure>,
    /// The only line of the log.
    pub(crate) line: Value,
    /// When the tool was called.
    pub(crate) calls: Vec<Duration>,
    pub(crate) took: Duration,
}

impl Seen {
    /// The result, which is flagged.
    #[track_caller]
    pub(crate) fn flagged(&self) -> &Answer {
        let answer = self.answer.as_ref().expect("a result");
        assert!(answer.is_error, "flagged: {answer:?}");
        assert_eq!(self.line["outcome"], "failed", "{}", self.line);
        assert_eq!(self.line["is_error"], true, "{}", self.line);
        answer
    }

    #[track_caller]
    pub(crate) fn assert_fine(&self) {
        assert_eq!(self.answer.as_ref().unwrap(), &Answer::ok("fine"));
        assert_eq!(self.line["outcome"], "success", "{}", self.line);
    }
}

/// One call of a tool that does this.
pub(crate) async fn see(call: Call, steps: impl IntoIterator<Item = Step>) -> Seen {
    see_with(retry(), call, steps).await
}

/// The same with another retry.
pub(crate) async fn see_with(
    retry: RetryBuilder,
    call: Call,
    steps: impl IntoIterator<Item = Step>,
) -> Seen {
    let tool = Script::new(steps);
    see_in(|lines| preset(lines, retry), call, tool).await
}

/// The same in another preset.
pub(crate) async fn see_in(
    preset: impl FnOnce(&Lines) -> ResilienceBuilder,
    call: Call,
    tool: Script,
) -> Seen {
    let lines = Lines::default();
    let stack = preset(&lines).build().unwrap().layer(tool.clone());
    let begun = Instant::now();
    let answer = stack.oneshot(call).await;
    Seen {
        answer,
        took: begun.elapsed(),
        line: lines.only(),
        calls: tool.calls(),
    }
}

/// The milliseconds of these points in time.
pub(crate) fn millis(times: &[Duration]) -> Vec<u128> {
    times.iter().map(Duration::as_millis).collect()
}

/// A foreign error around another.
#[derive(Debug)]
pub(crate) struct Wrapped(pub(crate) &'static str, pub(crate) BoxError);

impl Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.1)
    }
}

/// One around it, and one around that.
pub(crate) fn wrapped_twice(error: impl Into<BoxError>) -> BoxError {
    let inner = Wrapped("the request failed", error.into());
    Wrapped("the tool failed", inner.into()).into()
}

/// Dials a second apart at first, without jitter.
pub(crate) fn reconnect() -> ReconnectBuilder<()> {
    ReconnectLayer::builder(())
        .backoff(Backoff::new(SECOND, 30 * SECOND).unwrap())
        .jitter(Jitter::none())
}

/// How one dial ends, and after which time.
pub(crate) type Dial = (Duration, Result<Script, BoxError>);

/// Connections that come one after the other, in the preset.
pub(crate) struct Server {
    pub(crate) stack: Connected<Script>,
    pub(crate) handle: ReconnectHandle<Connection<Script>>,
    pub(crate) lines: Lines,
    dials: Arc<Mutex<Vec<Duration>>>,
}

impl Server {
    pub(crate) fn new(dials: impl IntoIterator<Item = Dial>) -> Self {
        let lines = Lines::default();
        let preset = preset(&lines, retry()).build().unwrap();
        Self::with(&preset, &reconnect().build().unwrap(), lines, dials)
    }

    pub(crate) fn with(
        preset: &ResilienceLayer,
        reconnect: &ReconnectLayer<()>,
        lines: Lines,
        dials: impl IntoIterator<Item = Dial>,
    ) -> Self {
        let left: VecDeque<_> = dials.into_iter().collect();
        let left = Arc::new(Mutex::new(left));
        let begun = Instant::now();
        let dials = Arc::<Mutex<Vec<Duration>>>::default();
        let noted = Arc::clone(&dials);
        let connector = service_fn(move |()| {
            noted.lock().unwrap().push(begun.elapsed());
            let next = left.lock().unwrap().pop_front();
            async move {
                let (after, connection) = next.expect("a dial too many");
                tokio::time::sleep(after).await;
                connection
            }
        });
        let (stack, handle) = preset.connect(reconnect, connector);
        Self {
            stack,
            handle,
            lines,
            dials,
        }
    }

    pub(crate) async fn call(&self, call: Call) -> Result<Answer, Failure> {
        self.stack.clone().oneshot(call).await
    }

    /// When it was dialled.
    pub(crate) fn dials(&self) -> Vec<Duration> {
        self.dials.lock().unwrap().clone()
    }
}

/// A dial that gives this connection at once.
pub(crate) fn gives(connection: &Script) -> Dial {
    (Duration::ZERO, Ok(connection.clone()))
}

/// A dial that fails at once.
pub(crate) fn refuses(error: impl Into<BoxError>) -> Dial {
    (Duration::ZERO, Err(error.into()))
}
