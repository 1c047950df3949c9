//! What is known of other people's errors, by their type.

use super::{BoxError, Chain, Class, Failure, Fatal, Repeats, RpcError};
use std::{error::Error, io};
use tower::{buffer::error as buffer, load_shed::error as load_shed, timeout::error as timeout};

impl From<BoxError> for Failure {
    fn from(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(failure) => *failure,
            Err(error) => recognise(&*error).because(error),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::from_any(error)
    }
}

impl From<timeout::Elapsed> for Failure {
    fn from(error: timeout::Elapsed) -> Self {
        Self::from_any(error)
    }
}

impl From<tokio::time::error::Elapsed> for Failure {
    fn from(error: tokio::time::error::Elapsed) -> Self {
        Self::from_any(error)
    }
}

/// The outermost known cause; but an error of others that is final wins over one that time would
/// heal, for a wrapper often knows less than what it wraps. A failure knows what it holds.
///
/// Whatever is found inside another error is a cause of this call's failure, and not what became
/// of this call: that a call of its own was refused does not tell whether the tool ran.
fn recognise(error: &(dyn Error + 'static)) -> Failure {
    let mut healing: Option<Failure> = None;
    for (depth, cause) in Chain(error).errors().enumerate() {
        let Some(mut known) = known(cause) else {
            continue;
        };
        if depth > 0 {
            known = known.only_a_cause();
        }
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
        return Some(failure.again());
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
    io_kind(error.downcast_ref::<io::Error>()?.kind())
}

/// The delivery stays unknown even where a connection was refused: whose connection that was, the
/// transport's or one that a tool made after half its work, does not show here. A connector knows,
/// and says [`Delivery::NotSent`] itself.
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
