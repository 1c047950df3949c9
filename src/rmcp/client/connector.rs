use super::{Connection, settings::Shared};
use crate::failure::Failure;
use std::time::Duration;
use tower::Service;

/// Makes connections to one server: [`ChildProcess`](super::ChildProcess), [`Http`](super::Http) with
/// the feature `rmcp-client-http`, or any transport by [`transport_fn`](super::transport_fn).
///
/// Clones share no connection and no state of a server: give one to each client.
///
/// Sealed. A connector of your own for other services goes under [`reconnect`](crate::reconnect).
pub trait Connector:
    Sealed + Service<(), Response = Connection, Error = Failure, Future: Send> + Clone + Send + 'static
{
}

impl<C> Connector for C where
    C: Sealed
        + Service<(), Response = Connection, Error = Failure, Future: Send>
        + Clone
        + Send
        + 'static
{
}

pub trait Sealed {
    /// Makes it the connector of one client.
    #[must_use]
    fn share(self, shared: Shared) -> Self;
    fn start_timeout(&self) -> Duration;
}

/// A connector as a service.
macro_rules! dials {
    ($self:ident => $dial:expr) => {
        type Response = $crate::rmcp::client::Connection;
        type Error = $crate::failure::Failure;
        type Future = ::std::pin::Pin<
            Box<dyn Future<Output = Result<Self::Response, $crate::failure::Failure>> + Send>,
        >;

        fn poll_ready(
            &mut self,
            _: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<Result<(), $crate::failure::Failure>> {
            ::std::task::Poll::Ready(Ok(()))
        }

        fn call(&mut $self, (): ()) -> Self::Future {
            Box::pin($dial)
        }
    };
}
pub(super) use dials;

/// The methods of every connector.
macro_rules! settings_of {
    ($connector:ident $(, $made_by:ident)*) => {
        impl<$($made_by,)* H> $connector<$($made_by,)* H> {
            /// The longest that a start may take: the process or the connection, the handshake, and
            /// the list of tools. A package runner may download the server first: give it more time.
            /// Default: 10 s.
            pub fn start_timeout(mut self, limit: ::std::time::Duration) -> Self {
                self.settings.start_timeout = limit;
                self
            }

            /// The longest that one call may take on a connection. Default: none, so the attempt
            /// timeout of the layers is the limit. A lower one here ends the call first.
            pub fn call_timeout(mut self, limit: ::std::time::Duration) -> Self {
                self.settings.call_timeout = Some(limit);
                self
            }

            /// Protocol negotiation. `Auto` waits up to 10 s for an old server that does not answer
            /// `server/discover`: give it a longer [start](Self::start_timeout).
            pub fn lifecycle(mut self, mode: ::rmcp::service::ClientLifecycleMode) -> Self {
                self.settings.lifecycle = mode;
                self
            }
        }

        impl<$($made_by,)* H: ::rmcp::ClientHandler + Clone> $crate::rmcp::client::connector::Sealed
            for $connector<$($made_by,)* H>
        {
            fn share(mut self, shared: $crate::rmcp::client::settings::Shared) -> Self {
                self.settings.shared = Some(shared);
                self
            }

            fn start_timeout(&self) -> ::std::time::Duration {
                self.settings.start_timeout
            }
        }
    };
}
pub(super) use settings_of;
