//! Answers in a store of keys: as they are on the wire.

use crate::{
    failure::BoxError,
    idempotency::{REPLAYED_META, StoredResult},
    rmcp::Answer,
};
use ::rmcp::model::{CallToolResponse, JsonObject, MetaObject};
use serde_json::Value;

impl StoredResult for Answer {
    /// Resources and prompts have no keys.
    fn encode(&self) -> Result<Vec<u8>, BoxError> {
        let Self::Tool(response) = self else {
            return Err("only the answers of tools are kept".into());
        };
        let bytes = match response {
            CallToolResponse::Complete(result) => serde_json::to_vec(result),
            CallToolResponse::InputRequired(result) => serde_json::to_vec(result),
            CallToolResponse::Task(result) => serde_json::to_vec(result),
            _ => return Err("an answer of a kind that is not known here".into()),
        };
        Ok(bytes?)
    }

    fn decode(bytes: &[u8]) -> Result<Self, BoxError> {
        let answer: Value = serde_json::from_slice(bytes)?;
        let kind = answer.get("resultType").and_then(Value::as_str);
        let response = match kind {
            Some("input_required") => {
                CallToolResponse::InputRequired(serde_json::from_value(answer)?)
            }
            Some("task") => CallToolResponse::Task(serde_json::from_value(answer)?),
            _ => CallToolResponse::Complete(serde_json::from_value(answer)?),
        };
        Ok(Self::Tool(response))
    }

    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        match self {
            Self::Tool(CallToolResponse::InputRequired(asked)) => Some(&mut asked.request_state),
            _ => None,
        }
    }

    fn mark_replayed(&mut self) {
        let Self::Tool(response) = self else {
            return;
        };
        let meta = match response {
            CallToolResponse::Complete(result) => &mut result.meta,
            CallToolResponse::InputRequired(result) => &mut result.meta,
            CallToolResponse::Task(result) => &mut result.meta,
            _ => return,
        };
        let meta = meta.get_or_insert_with(|| MetaObject(JsonObject::new()));
        meta.0.insert(REPLAYED_META.to_owned(), true.into());
    }
}
