use super::dial;
use crate::failure::{BoxError, Failure};
use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

pub(super) type Probing = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// Asks a connection whether it is alive, as the `ping` of MCP does.
///
/// Implemented for functions from a connection to a future. The connection is alive if the future
/// returns `Ok`, or a failure that is an answer of the server. It is lost if the error means a [new
/// connection](crate::Class::needs_new_connection), if its type is unknown, or if the
/// [limit](super::ReconnectBuilder::probe_timeout) has passed.
///
/// Sealed: only [`NoProbe`] and functions implement it.
pub trait Probe<C>: Clone + Send + Sync + 'static {
    #[doc(hidden)]
    fn of(&self, connection: &C) -> Option<Prober>;
}

/// No probe: a call that is not answered in time retires its connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl<C> Probe<C> for NoProbe {
    fn of(&self, _: &C) -> Option<Prober> {
        None
    }
}

impl<C, P, F, E> Probe<C> for P
where
    C: Clone + Send + 'static,
    P: Fn(C) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<BoxError> + 'static,
{
    fn of(&self, connection: &C) -> Option<Prober> {
        let probe = self.clone();
        // Locked only for the clone, because a connection may not be `Sync`.
        let connection = Mutex::new(connection.clone());
        Some(Prober(Arc::new(move || {
            let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            let probing = probe(connection.clone());
            Box::pin(async move {
                let outcome = probing.await;
                outcome.map_err(|error| dial::failure(Failure::from_any(error)))
            })
        })))
    }
}

/// The probe of one connection.
#[derive(Clone)]
pub struct Prober(Arc<dyn Fn() -> Probing + Send + Sync>);

impl Prober {
    pub(super) fn start(&self) -> Probing {
        (self.0)()
    }
}

impl fmt::Debug for Prober {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prober(..)")
    }
}
