use super::probe::{Probe, Prober};
use crate::failure::{BoxError, Class, Failure};
use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::runtime::Handle;
use tower::{Service, ServiceExt};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Makes one connection.
pub(super) struct Dial<C>(Box<dyn Fn() -> BoxFuture<Result<Made<C>, Failure>> + Send + Sync>);

/// The result of a dial.
#[derive(Clone)]
pub(super) struct Made<C> {
    pub(super) connection: C,
    pub(super) probe: Option<Prober>,
    /// The runtime on which the connection lives and is probed.
    pub(super) runtime: Handle,
}

impl<C: 'static> Dial<C> {
    pub(super) fn new<M, T>(
        connector: M,
        target: T,
        probe: impl Probe<M::Response>,
        wrap: impl Fn(M::Response) -> C + Send + Sync + 'static,
        name: impl Fn(BoxError) -> Failure + Send + Sync + 'static,
    ) -> Self
    where
        M: Service<T> + Clone + Send + 'static,
        M::Error: Into<BoxError>,
        M::Future: Send,
        T: Clone + Send + 'static,
    {
        let parts = Arc::new((probe, wrap, name));
        // Locked only for the clone, because a connector may not be `Sync`.
        let dial = Mutex::new((connector, target));
        Self(Box::new(move || {
            let (mut connector, target) =
                dial.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let parts = Arc::clone(&parts);
            Box::pin(async move {
                let (probe, wrap, name) = &*parts;
                let dialled = async {
                    let connector = connector.ready().await?;
                    connector.call(target).await
                };
                match dialled.await {
                    Ok(made) => Ok(Made {
                        probe: probe.of(&made),
                        connection: wrap(made),
                        runtime: Handle::current(),
                    }),
                    Err(error) => Err(failure(name(error.into()))),
                }
            })
        }))
    }

    pub(super) fn start(&self) -> BoxFuture<Result<Made<C>, Failure>> {
        (self.0)()
    }
}

/// Classifies a failure from before a call was sent: from a dial, a probe, or a connection's
/// `poll_ready`.
pub(super) fn failure(failure: Failure) -> Failure {
    let failure = match failure.class() {
        // An error of an unknown type. It is certain only that there is no connection.
        Class::Crash => {
            Failure::connection("cannot connect to the tool server").caused_like(&failure)
        }
        _ => failure,
    };
    failure.not_sent()
}
