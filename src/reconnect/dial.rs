use crate::failure::{BoxError, Class, Failure};
use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};
use tower::{Service, ServiceExt};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How one connection is made.
pub(super) struct Dial<C>(Box<dyn Fn() -> BoxFuture<Result<C, Failure>> + Send + Sync>);

impl<C: 'static> Dial<C> {
    pub(super) fn new<M, T>(
        connector: M,
        target: T,
        wrap: impl Fn(M::Response) -> C + Send + Sync + 'static,
        name: impl Fn(BoxError) -> Failure + Send + Sync + 'static,
    ) -> Self
    where
        M: Service<T> + Clone + Send + 'static,
        M::Error: Into<BoxError>,
        M::Future: Send,
        T: Clone + Send + 'static,
    {
        let both = Arc::new((wrap, name));
        // Locked only to be cloned: a connector need not be shareable.
        let dial = Mutex::new((connector, target));
        Self(Box::new(move || {
            let (mut connector, target) =
                dial.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let both = Arc::clone(&both);
            Box::pin(async move {
                let (wrap, name) = &*both;
                let dialled = async {
                    let connector = connector.ready().await?;
                    connector.call(target).await
                };
                match dialled.await {
                    Ok(connection) => Ok(wrap(connection)),
                    Err(error) => Err(failure(name(error.into()))),
                }
            })
        }))
    }

    pub(super) fn start(&self) -> BoxFuture<Result<C, Failure>> {
        (self.0)()
    }
}

/// What a failure means that came before a call was sent: of a dial, or of the readiness of what
/// it gave.
pub(super) fn failure(failure: Failure) -> Failure {
    let failure = match failure.class() {
        // Nobody named it. That there is no connection is all that is known.
        Class::Crash => {
            Failure::connection("cannot connect to the tool server").caused_like(&failure)
        }
        _ => failure,
    };
    failure.not_sent()
}

/// Whether no later dial would end better: settings, credentials, a binary that is not there. What else
/// a server answers it may answer once, while it starts.
pub(super) fn is_for_good(failure: &Failure) -> bool {
    use Class::{Disabled, Fatal, Forbidden, Unauthorized};
    matches!(failure.class(), Disabled | Fatal | Forbidden | Unauthorized)
}
