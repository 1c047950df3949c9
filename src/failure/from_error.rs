//! Errors of other crates, known by their type.

use super::{
    Border, BoxError, Chain, Class, Delivery, Failure, Fatal, IntoFailure, Repeats, Returned,
    RpcError, Witness,
};
use std::{any::Any, error::Error, io};
use tower::{buffer::error as buffer, load_shed::error as load_shed, timeout::error as timeout};

/// Whether the call ran stays unknown, since the error does not show which call it is about.
impl IntoFailure for BoxError {
    fn into_failure(self) -> Failure {
        let (error, _) = Returned::unmark(self);
        let error = match error.downcast::<Failure>() {
            Ok(failure) => return *failure,
            Err(error) => error,
        };
        #[cfg(feature = "reqwest")]
        let error = super::http_client::without_url(error);
        Failure::of_cause(&*error).because(error)
    }
}

impl Failure {
    /// The failure for a borrowed error. A `Failure` inside keeps its class and loses its claims.
    pub(crate) fn of_cause(error: &(dyn Error + 'static)) -> Self {
        recognise(error)
    }

    /// Converts the error of the service directly below a layer. A `Failure` stays unchanged. A call
    /// that a load shed refused did not run.
    pub(crate) fn from_any(error: impl Into<BoxError>) -> Self {
        let error = error.into();
        let is_turned_away = error.is::<load_shed::Overloaded>();
        let failure = Self::from(error);
        if is_turned_away {
            return failure.reached(Delivery::Refused, Witness::Connection);
        }
        failure
    }

    /// The same, without boxing a `Failure`.
    pub(crate) fn from_owned<E: Into<BoxError> + 'static>(error: E) -> Self {
        let mut error = Some(error);
        let slot: &mut dyn Any = &mut error;
        match slot.downcast_mut::<Option<Self>>().and_then(Option::take) {
            Some(failure) => failure,
            None => error.map_or_else(|| Self::new(Class::Crash, ""), Self::from_any),
        }
    }
}

/// As if they were boxed.
macro_rules! boxed {
    ($($error:ty)*) => {$(
        impl IntoFailure for $error {
            fn into_failure(self) -> Failure {
                BoxError::from(self).into_failure()
            }
        }
    )*};
}

boxed! { io::Error timeout::Elapsed tokio::time::error::Elapsed }

/// The failure for the outermost known error in the chain. A final error wins over a temporary one,
/// since a wrapper often knows less than its source. A `Failure` in the chain is taken with all its
/// details.
///
/// The error is a cause, and not about this call. If a request of the tool was refused, the tool
/// may still have run.
fn recognise(error: &(dyn Error + 'static)) -> Failure {
    let mut healing: Option<Failure> = None;
    for cause in Chain(error).errors() {
        let Some(known) = known(cause) else {
            continue;
        };
        let known = known.across(Border::Cause);
        if known.class().repeats() == Repeats::Never {
            return known;
        }
        let is_ours = cause.is::<Failure>();
        healing = healing.or(Some(known));
        if is_ours {
            break;
        }
    }
    healing.unwrap_or_else(|| Failure::new(Class::Crash, ""))
}

fn known(error: &(dyn Error + 'static)) -> Option<Failure> {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return Some(failure.duplicate());
    }
    if let Some(error) = error.downcast_ref::<RpcError>() {
        return Some(Failure::new(Class::Protocol, "").with_rpc_error(error.clone()));
    }
    if error.is::<Fatal>() {
        return Some(Failure::fatal(""));
    }
    if error.is::<timeout::Elapsed>() || error.is::<tokio::time::error::Elapsed>() {
        return Some(Failure::timeout(""));
    }
    if error.is::<load_shed::Overloaded>() {
        return Some(Failure::at_capacity(None));
    }
    if error.is::<buffer::Closed>() {
        return Some(Failure::connection(""));
    }
    #[cfg(feature = "reqwest")]
    if let Some(error) = error.downcast_ref() {
        return super::http_client::of_request(error);
    }
    io_kind(error.downcast_ref::<io::Error>()?.kind())
}

/// The delivery stays unknown even if a connection was refused. It may be a connection that the tool
/// opened in the middle of its work. A connector knows better, and sets [`Delivery::NotSent`]
/// itself.
fn io_kind(kind: io::ErrorKind) -> Option<Failure> {
    use io::ErrorKind as E;
    match kind {
        E::ConnectionRefused
        | E::ConnectionReset
        | E::ConnectionAborted
        | E::BrokenPipe
        | E::NotConnected
        | E::UnexpectedEof
        | E::HostUnreachable
        | E::NetworkUnreachable
        | E::NetworkDown => Some(Failure::connection("")),
        E::TimedOut => Some(Failure::timeout("")),
        _ => None,
    }
}
