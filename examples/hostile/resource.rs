use super::{
    Server,
    ledger::Event,
    reply::{Reply, error, result},
};
use serde_json::{Value, json};

const URI: &str = "shelf:1";

impl Server {
    /// The answer to a request about the resource.
    pub(super) fn resource(&self, method: &str, id: &Value, params: &Value) -> Reply {
        let answer = match method {
            "resources/list" => json!({"resources": [{"uri": URI, "name": "the shelf"}]}),
            "resources/templates/list" => json!({"resourceTemplates": []}),
            "resources/read" => json!({"contents": [{"uri": URI, "text": "a book"}]}),
            "resources/subscribe" => {
                let uri = params["uri"].as_str().unwrap_or_default().to_owned();
                self.ledger.note(&Event::Subscribed { uri });
                json!({})
            }
            other => return Reply::one(error(id, -32601, &format!("there is no {other} here"))),
        };
        Reply::one(result(id, &answer))
    }
}
