//! Calls that an SDK cannot read: they go through the stack for their line, and not to a handler.

use crate::failure::{Class, Failure, RpcError};

/// The error in a call.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) code: i32,
    pub(crate) problem: String,
}

impl Unreadable {
    /// The error for the host.
    pub(crate) fn failure(&self) -> Failure {
        let error = RpcError::new(self.code, &*self.problem, None);
        Failure::new(Class::InvalidInput, "")
            .with_rpc_error(error)
            .not_sent()
    }
}

/// serde's message without the quoted value, which is between the kind of the error and the expected
/// type.
pub(crate) fn without_values(error: &str) -> String {
    if error.starts_with("missing field ") {
        return error.to_owned();
    }
    let Some(expected) = error.rfind(", expected ") else {
        return "a value is not of the form that was expected".to_owned();
    };
    let kind = error[..expected]
        .split(['"', '`'])
        .next()
        .unwrap_or_default();
    format!("{}{}", kind.trim_end(), &error[expected..])
}
