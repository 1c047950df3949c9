use super::{Catalog, census::Census};
use ::rmcp::service::ClientLifecycleMode;
use std::time::Duration;

/// The settings that all connectors have.
#[derive(Clone, Debug)]
pub(super) struct Settings<H> {
    pub(super) handler: H,
    pub(super) lifecycle: ClientLifecycleMode,
    pub(super) start_timeout: Duration,
    pub(super) call_timeout: Duration,
    pub(super) catalog: Catalog,
    pub(super) census: Census,
}

impl Default for Settings<()> {
    fn default() -> Self {
        Self {
            handler: (),
            lifecycle: ClientLifecycleMode::Initialize,
            start_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(60),
            catalog: Catalog::new(),
            census: Census::new(),
        }
    }
}

impl<H> Settings<H> {
    pub(super) fn with_handler<N>(self, handler: N) -> Settings<N> {
        Settings {
            handler,
            lifecycle: self.lifecycle,
            start_timeout: self.start_timeout,
            call_timeout: self.call_timeout,
            catalog: self.catalog,
            census: self.census,
        }
    }
}

/// What a connector says of them.
macro_rules! settings_of {
    ($connector:ident) => {
        impl<H> $connector<H> {
            /// The longest that it may take until the server is ready: to start or to connect, the
            /// handshake, and the list of tools. A first run by a package runner may have to download
            /// the server.
            #[must_use]
            pub fn start_timeout(mut self, limit: ::std::time::Duration) -> Self {
                self.settings.start_timeout = limit;
                self
            }

            /// The longest that one call may take; an attempt timeout further out may be shorter.
            #[must_use]
            pub fn call_timeout(mut self, limit: ::std::time::Duration) -> Self {
                self.settings.call_timeout = limit;
                self
            }

            /// How the two sides come to terms. `Auto` waits up to 10 s for an old server that says
            /// nothing to `server/discover`: give it a longer [start](Self::start_timeout).
            #[must_use]
            pub fn lifecycle(mut self, mode: ::rmcp::service::ClientLifecycleMode) -> Self {
                self.settings.lifecycle = mode;
                self
            }

            /// What is known of the server's tools.
            #[must_use]
            pub fn catalog(&self) -> $crate::rmcp::client::Catalog {
                self.settings.catalog.clone()
            }
        }

        impl<H: ::rmcp::ClientHandler + Clone> $crate::rmcp::client::connector::Sealed
            for $connector<H>
        {
            fn catalog(&self) -> $crate::rmcp::client::Catalog {
                self.catalog()
            }

            fn census(&self) -> $crate::rmcp::client::census::Census {
                self.settings.census.clone()
            }

            fn start_timeout(&self) -> ::std::time::Duration {
                self.settings.start_timeout
            }
        }
    };
}
pub(super) use settings_of;
