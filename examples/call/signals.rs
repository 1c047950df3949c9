use std::io;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask a process to end. From the first listener on they end nothing by themselves.
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

    /// Waits for the next of them, and gives the exit code that says which: 128 and its number.
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
        // Without a listener nothing can be waited for: the default of the system holds.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        130
    }
}
