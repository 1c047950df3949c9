//! Answers as a store of keys keeps them: as they are on the wire.

use crate::{
    failure::BoxError,
    idempotency::{REPLAYED_META, StoredResult},
};
use ::tower_mcp::protocol::McpResponse;
use serde_json::{Map, Value};

impl StoredResult for McpResponse {
    /// Resources and prompts have no keys; a task is kept as done.
    fn encode(&self) -> Result<Vec<u8>, BoxError> {
        let bytes = match self {
            Self::CallTool(result) => serde_json::to_vec(result),
            Self::InputRequired(result) => serde_json::to_vec(result),
            _ => return Err("only results of tools and requests for input are kept".into()),
        };
        Ok(bytes?)
    }

    fn decode(bytes: &[u8]) -> Result<Self, BoxError> {
        let answer: Value = serde_json::from_slice(bytes)?;
        let response = if answer["resultType"] == "input_required" {
            Self::InputRequired(serde_json::from_value(answer)?)
        } else {
            Self::CallTool(serde_json::from_value(answer)?)
        };
        Ok(response)
    }

    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        match self {
            Self::InputRequired(asked) => Some(&mut asked.request_state),
            _ => None,
        }
    }

    fn mark_replayed(&mut self) {
        let meta = match self {
            Self::CallTool(result) => &mut result.meta,
            Self::InputRequired(result) => &mut result.meta,
            _ => return,
        };
        let meta = meta.get_or_insert_with(|| Value::Object(Map::new()));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(REPLAYED_META.to_owned(), true.into());
        }
    }
}
