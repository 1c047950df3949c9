use std::io;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask a process to end. Once listened for, they no longer end it by themselves.
pub(crate) struct Signals {
    #[cfg(unix)]
    all: [(Signal, u8); 3],
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn listen() -> io::Result<Self> {
        let listen = |kind: SignalKind, code| Ok::<_, io::Error>((signal(kind)?, code));
        Ok(Self {
            all: [
                listen(SignalKind::hangup(), 129)?,
                listen(SignalKind::interrupt(), 130)?,
                listen(SignalKind::terminate(), 143)?,
            ],
        })
    }

    #[cfg(not(unix))]
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next signal. Returns the exit code: 128 plus the signal's number.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> u8 {
        let [(hangup, first), (interrupt, second), (terminate, third)] = &mut self.all;
        tokio::select! {
            _ = hangup.recv() => *first,
            _ = interrupt.recv() => *second,
            _ = terminate.recv() => *third,
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> u8 {
        // Without a listener, the default action of the system applies.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        130
    }
}
