use crate::{classify::catch_panic, failure::Failure};
use std::{
    io,
    task::{Context, Poll},
};

/// The signals that end a server.
pub(super) struct Signals(Vec<Listener>);

#[cfg(unix)]
type Listener = tokio::signal::unix::Signal;

#[cfg(windows)]
type Listener = tokio::signal::windows::CtrlC;

#[cfg(not(any(unix, windows)))]
type Listener = std::convert::Infallible;

impl Signals {
    /// Listens from here on. A signal that is not available is left out.
    pub(super) fn install() -> Self {
        let listeners = listeners().into_iter().filter_map(|(name, listen)| {
            // tokio panics in a runtime without IO.
            let failure = match catch_panic(listen) {
                Ok(Ok(listener)) => return Some(listener),
                Ok(Err(error)) => Failure::from(error),
                Err(panic) => panic,
            };
            tracing::warn!(signal = crate::text::shown_name(name), error = %failure.chain(), "the server cannot listen for a signal");
            None
        });
        Self(listeners.collect())
    }

    /// Ready once for each time that one or more signals came.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut has_come = false;
        for listener in &mut self.0 {
            // All of them: each has to register its waker.
            has_come |= poll(listener, cx);
        }
        if has_come {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

type Listen = Box<dyn FnOnce() -> io::Result<Listener>>;

#[cfg(unix)]
fn listeners() -> Vec<(&'static str, Listen)> {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [
        ("SIGTERM", SignalKind::terminate()),
        ("SIGINT", SignalKind::interrupt()),
        ("SIGHUP", SignalKind::hangup()),
    ];
    let listen = |kind| Box::new(move || signal(kind)) as Listen;
    kinds.map(|(name, kind)| (name, listen(kind))).into()
}

#[cfg(windows)]
fn listeners() -> Vec<(&'static str, Listen)> {
    vec![("Ctrl-C", Box::new(tokio::signal::windows::ctrl_c))]
}

#[cfg(not(any(unix, windows)))]
fn listeners() -> Vec<(&'static str, Listen)> {
    Vec::new()
}

#[cfg(any(unix, windows))]
fn poll(listener: &mut Listener, cx: &mut Context<'_>) -> bool {
    matches!(listener.poll_recv(cx), Poll::Ready(Some(())))
}

#[cfg(not(any(unix, windows)))]
fn poll(listener: &mut Listener, _: &mut Context<'_>) -> bool {
    match *listener {}
}
