use crate::failure::{BoxError, Chain, Class, Delivery, Failure, Repeats};
use std::{io, pin::Pin, sync::Mutex, sync::PoisonError};
use tower::{Service, ServiceExt};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How one connection is made.
pub(super) struct Dial<C>(Box<dyn Fn() -> BoxFuture<Result<C, BoxError>> + Send + Sync>);

impl<C: 'static> Dial<C> {
    pub(super) fn new<M, T>(
        connector: M,
        target: T,
        wrap: impl Fn(M::Response) -> C + Send + Sync + 'static,
    ) -> Self
    where
        M: Service<T> + Clone + Send + 'static,
        M::Error: Into<BoxError>,
        M::Future: Send,
        T: Clone + Send + 'static,
    {
        let wrap = std::sync::Arc::new(wrap);
        // Locked only to be cloned: a connector need not be shareable.
        let both = Mutex::new((connector, target));
        Self(Box::new(move || {
            let (mut connector, target) =
                both.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let wrap = std::sync::Arc::clone(&wrap);
            Box::pin(async move {
                let connector = connector.ready().await.map_err(Into::into)?;
                let connection = connector.call(target).await.map_err(Into::into)?;
                Ok(wrap(connection))
            })
        }))
    }

    pub(super) fn start(&self) -> BoxFuture<Result<C, BoxError>> {
        (self.0)()
    }
}

/// What a dial that failed means for the calls that wait: none of them was sent.
pub(super) fn failure(error: BoxError) -> Failure {
    let is_missing = Chain(&*error).errors().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|io| {
            matches!(
                io.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            )
        })
    });
    let failure = match Failure::from(error) {
        // No binary, no socket, no right to use it: nothing that another dial would find.
        crash if crash.class() == Class::Crash && is_missing => {
            Failure::new(Class::Disabled, "the tool server cannot be started").caused_like(&crash)
        }
        crash if crash.class() == Class::Crash => {
            Failure::connection("cannot connect to the tool server").caused_like(&crash)
        }
        failure => failure,
    };
    failure.with_delivery(Delivery::NotSent)
}

/// Whether no later dial would end better. One that was only given up may.
pub(super) fn is_for_good(failure: &Failure) -> bool {
    failure.class().repeats() == Repeats::Never && failure.class() != Class::Cancelled
}
