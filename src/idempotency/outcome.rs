//! The outcome of a run, and its stored form.

use super::{
    StoredResult,
    store::{Ending, StoreError, Value},
};
use crate::failure::{Class, Code, Delivery, Failure, RpcError, Witness};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, time::Duration};

/// The version of the format of a [`Value`].
const VERSION: u16 = 1;

const RESULT: u8 = b'R';
const FAILURE: u8 = b'F';

/// The result for the caller of a run.
pub(super) type Outcome<R> = Result<R, Failure>;

/// How a run with this outcome ended. `None` if nothing ran. `failure` is the failure that became a
/// flagged result.
pub(super) fn ending<R: StoredResult>(
    outcome: &Outcome<R>,
    failure: Option<&Failure>,
    largest: usize,
) -> Option<Ending> {
    let failure = outcome.as_ref().err().or(failure);
    match failure {
        Some(failure) if failure.delivery().did_not_run() => None,
        Some(failure) if is_in_the_dark(failure) => Some(Ending::Unknown),
        _ => Some(Ending::Done(keep(outcome.as_ref(), largest))),
    }
}

/// Whether it is a failure of the connection, of a time limit or of the process, which leaves the
/// outcome of the tool unknown.
fn is_in_the_dark(failure: &Failure) -> bool {
    let class = failure.class();
    let says_nothing = class.heals() || matches!(class, Class::Cancelled | Class::Fatal);
    says_nothing && failure.delivery() == Delivery::Unknown
}

/// The outcome as the store keeps it, without the answer if that is too large.
pub(super) fn keep<R: StoredResult>(outcome: Result<&R, &Failure>, largest: usize) -> Value {
    let bytes = match outcome {
        Ok(result) => result.encode().map(|bytes| (RESULT, bytes)),
        Err(failure) => {
            let bytes = serde_json::to_vec(&Stored::of(failure));
            bytes.map(|bytes| (FAILURE, bytes)).map_err(Into::into)
        }
    };
    match bytes {
        Ok((kind, mut bytes)) if bytes.len() < largest => {
            bytes.insert(0, kind);
            Value::new(VERSION, bytes)
        }
        Ok((_, bytes)) => {
            tracing::warn!(
                bytes = bytes.len() as u64,
                "an answer is too large to be kept: another attempt is only told that the call is done"
            );
            Value::not_kept()
        }
        Err(error) => {
            let failure = Failure::crash(error);
            tracing::error!(error = %failure.chain(), "an answer cannot be written to the store: another attempt is only told that the call is done");
            Value::not_kept()
        }
    }
}

/// The stored outcome. `None` if its answer was not kept.
pub(super) fn replay<R: StoredResult>(value: &Value) -> Result<Option<Outcome<R>>, StoreError> {
    if value.bytes.is_empty() {
        return Ok(None);
    }
    let unreadable = || StoreError::new("the outcome in the store cannot be read");
    let version = value.version;
    if version > VERSION {
        return Err(StoreError::new(format!(
            "the outcome is in version {version} of the format, and this server reads up to {VERSION}: upgrade it"
        )));
    }
    let outcome = match value.bytes.split_first() {
        Some((&RESULT, bytes)) => {
            let mut result = R::decode(bytes).map_err(|error| unreadable().because(error))?;
            result.mark_replayed();
            Ok(result)
        }
        Some((&FAILURE, bytes)) => {
            let stored: Stored<'_> =
                serde_json::from_slice(bytes).map_err(|error| unreadable().because(error))?;
            Err(stored.into_failure())
        }
        _ => return Err(unreadable()),
    };
    Ok(Some(outcome))
}

/// The stored form of an error that has no flagged result. Sources are not stored.
#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    class: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Cow<'a, str>>,
    message: Cow<'a, str>,
    has_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Rpc<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Rpc<'a> {
    code: i32,
    message: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Cow<'a, serde_json::Value>>,
}

impl<'a> Stored<'a> {
    fn of(failure: &'a Failure) -> Self {
        Self {
            class: failure.class().as_str().into(),
            code: match failure.code() {
                Some(Code::Text(text)) => Some(text.as_ref().into()),
                _ => None,
            },
            message: failure.message().unwrap_or_default().into(),
            has_run: failure.delivery() == Delivery::Executed,
            retry_after_ms: failure.retry_after().map(|wait| {
                let wait = wait.as_millis();
                u64::try_from(wait).unwrap_or(u64::MAX)
            }),
            error: failure.rpc_error().map(|error| Rpc {
                code: error.code,
                message: error.message.as_str().into(),
                data: error.data.as_ref().map(Cow::Borrowed),
            }),
        }
    }

    fn into_failure(self) -> Failure {
        let class = Class::all().find(|class| class.as_str() == self.class);
        // An unknown class was stored by a later version.
        let class = class.unwrap_or(Class::Crash);
        let mut failure = Failure::new(class, self.message.into_owned())
            .with_retry_after(self.retry_after_ms.map(Duration::from_millis));
        if let Some(code) = self.code {
            failure = failure.with_code(code.into_owned());
        }
        if let Some(error) = self.error {
            let data = error.data.map(Cow::into_owned);
            failure =
                failure.with_rpc_error(RpcError::new(error.code, error.message.into_owned(), data));
        }
        let delivery = if self.has_run {
            Delivery::Executed
        } else {
            Delivery::Unknown
        };
        failure.reached(delivery, Witness::Store)
    }
}
