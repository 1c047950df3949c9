//! A call over stdio, as it was written.

use crate::call::{IdempotencyKey, InvalidKey};
use ::tower_mcp::{
    RouterRequest,
    inspection::JsonRpcPayload,
    protocol::{McpRequest, RequestId},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// All names of a key contain this, in any case.
const NAME: &[u8] = b"idempotency";

/// A call as it was written.
#[derive(Debug)]
pub(super) struct Came {
    pub(super) id: RequestId,
    pub(super) request: Vec<u8>,
    /// The number of the batch that it came in.
    pub(super) batch: Option<u64>,
}

/// An error that names no request.
#[derive(Clone, Copy)]
pub(super) enum Unnamed {
    /// The line is not JSON as tower-mcp reads it.
    Parse,
    /// The message is not a request of JSON-RPC.
    Request,
    /// The batch is not allowed.
    Batch,
}

impl Came {
    /// The key in its `_meta`.
    pub(super) fn key(&self) -> Option<Result<IdempotencyKey, InvalidKey>> {
        let mut windows = self.request.windows(NAME.len());
        if !windows.any(|window| window.eq_ignore_ascii_case(NAME)) {
            return None;
        }
        let request = self.read();
        IdempotencyKey::of_request(request["params"]["_meta"].as_object(), None)
    }

    /// The request, as far as it can be read.
    pub(super) fn read(&self) -> Value {
        let whole = serde_json::from_slice(&self.request);
        whole.unwrap_or_else(|_| Named::read(&self.request))
    }

    /// Whether tower-mcp answers it with this error.
    pub(super) fn gets(&self, error: Unnamed) -> bool {
        let read = || serde_json::from_slice::<Value>(&self.request);
        match (error, self.batch) {
            (Unnamed::Batch, batch) => batch.is_some(),
            (Unnamed::Parse, None) => read().is_err(),
            (Unnamed::Request, None) => {
                read().is_ok_and(|request| JsonRpcPayload::inspect(&request).is_err())
            }
            (_, Some(_)) => false,
        }
    }

    /// Whether this is the request, also if an earlier call with its id is still there.
    pub(super) fn is(&self, request: &RouterRequest) -> bool {
        let McpRequest::CallTool(params) = &request.inner else {
            return true;
        };
        let came = self.read();
        let arguments = came["params"].get("arguments").unwrap_or(&Value::Null);
        came["params"]["name"] == *params.name && *arguments == params.arguments
    }
}

/// The parts of a call that name what it calls. The rest may hold what no [`Value`] can, such as `1e400`.
#[derive(Deserialize)]
struct Named {
    method: String,
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    name: Option<String>,
    uri: Option<String>,
}

impl Named {
    fn read(request: &[u8]) -> Value {
        serde_json::from_slice(request).map_or(Value::Null, |Self { method, params }| {
            let params = params.map(|Params { name, uri }| json!({"name": name, "uri": uri}));
            json!({"method": method, "params": params})
        })
    }
}
