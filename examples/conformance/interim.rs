//! Answers that ask the client for input and end the request (revision 2026-07-28).

use crate::fixtures::{text, typed};
use rmcp::{
    ErrorData, RoleServer,
    model::{ClientCapabilities, InputRequiredResult, InputResponses},
    service::RequestContext,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// The continuation in a request.
pub(crate) struct Round {
    pub(crate) responses: Option<InputResponses>,
    pub(crate) state: Option<String>,
}

/// The result of a round.
pub(crate) enum Step {
    /// The client has to ask the user.
    Asked(InputRequiredResult),
    /// The tool is done, with this text.
    Done(String),
}

impl Step {
    /// The result of a tool.
    pub(crate) fn said(text: &str) -> Value {
        json!({"content": [self::text(text)]})
    }
}

/// The states that were given to clients. Other states are refused.
#[derive(Clone, Debug, Default)]
pub(crate) struct States(Arc<Mutex<Vec<String>>>);

impl States {
    fn issue(&self, round: usize) -> String {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = format!("{round}-{}", states.len());
        states.push(state.clone());
        state
    }

    /// The round of a state; 0 without one.
    fn round(&self, state: Option<&str>) -> Result<usize, ErrorData> {
        let Some(state) = state else { return Ok(0) };
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let round = state.split('-').next().and_then(|round| round.parse().ok());
        let is_issued = states.iter().any(|issued| issued == state);
        round
            .filter(|_| is_issued)
            .ok_or_else(|| ErrorData::invalid_params("a requestState of somebody else", None))
    }
}

fn question(property: &str, kind: &str, message: &str) -> Value {
    let schema = json!({
        "type": "object", "properties": {property: {"type": kind}}, "required": [property],
    });
    json!({
        "method": "elicitation/create",
        "params": {"message": message, "requestedSchema": schema},
    })
}

fn sampling(prompt: &str) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let params = json!({"messages": [message], "maxTokens": 100});
    json!({"method": "sampling/createMessage", "params": params})
}

fn roots() -> Value {
    json!({"method": "roots/list"})
}

fn ask(requests: &Value, state: Option<String>) -> Result<Step, ErrorData> {
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    typed(result).map(Step::Asked)
}

impl Round {
    /// The answer to a request. Only an object counts.
    fn response(&self, key: &str) -> Option<&Value> {
        let responses = self.responses.as_ref()?;
        responses.get(key).filter(|response| response.is_object())
    }

    fn has_all(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.response(key).is_some())
    }

    /// The result of a tool, if it is one of these.
    pub(crate) fn call(
        &self,
        tool: &str,
        states: &States,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<Step, ErrorData>> {
        let name = || question("name", "string", "What is your name?");
        let step = match tool.strip_prefix("test_input_required_result_")? {
            "elicitation" => match self.response("user_name") {
                Some(response) => {
                    let name = response["content"]["name"].as_str().unwrap_or("you");
                    Ok(Step::Done(format!("Hello, {name}!")))
                }
                None => ask(&json!({"user_name": name()}), None),
            },
            "sampling" => match self.response("capital_question") {
                Some(_) => Ok(Step::Done("The model has answered.".to_owned())),
                None => ask(
                    &json!({"capital_question": sampling("What is the capital of France?")}),
                    None,
                ),
            },
            "list_roots" => match self.response("client_roots") {
                Some(response) => Ok(Step::Done(format!("Roots: {}", response["roots"]))),
                None => ask(&json!({"client_roots": roots()}), None),
            },
            "request_state" | "tampered_state" => self.confirm(states),
            "multiple_inputs" => self.several(states),
            "multi_round" => self.rounds(states),
            "capabilities" => self.capable(&context.client_capabilities().unwrap_or_default()),
            _ => return None,
        };
        Some(step)
    }

    fn confirm(&self, states: &States) -> Result<Step, ErrorData> {
        match states.round(self.state.as_deref())? {
            0 => ask(
                &json!({"confirm": question("ok", "boolean", "Is that right?")}),
                Some(states.issue(1)),
            ),
            _ => Ok(Step::Done("Confirmed: state-ok".to_owned())),
        }
    }

    fn several(&self, states: &States) -> Result<Step, ErrorData> {
        let round = states.round(self.state.as_deref())?;
        if round > 0 && self.has_all(&["user_name", "greeting", "client_roots"]) {
            return Ok(Step::Done("All inputs have come.".to_owned()));
        }
        let requests = json!({
            "user_name": question("name", "string", "What is your name?"),
            "greeting": sampling("Say hello."),
            "client_roots": roots(),
        });
        ask(&requests, Some(states.issue(1)))
    }

    fn rounds(&self, states: &States) -> Result<Step, ErrorData> {
        match states.round(self.state.as_deref())? {
            0 => ask(
                &json!({"step1": question("name", "string", "First: what is your name?")}),
                Some(states.issue(1)),
            ),
            1 => ask(
                &json!({"step2": question("color", "string", "Then: which color?")}),
                Some(states.issue(2)),
            ),
            _ => Ok(Step::Done("Both rounds are over.".to_owned())),
        }
    }

    /// Asks for nothing that the client cannot do.
    fn capable(&self, client: &ClientCapabilities) -> Result<Step, ErrorData> {
        let mut requests = serde_json::Map::new();
        if client.elicitation.is_some() {
            let name = question("name", "string", "What is your name?");
            requests.insert("user_name".to_owned(), name);
        }
        if client.sampling.is_some() {
            requests.insert("greeting".to_owned(), sampling("Say hello."));
        }
        if client.roots.is_some() {
            requests.insert("client_roots".to_owned(), roots());
        }
        if self.responses.is_some() || requests.is_empty() {
            return Ok(Step::Done("Nothing more is needed.".to_owned()));
        }
        ask(&requests.into(), None)
    }

    /// The result of a prompt that asks first.
    pub(crate) fn prompt(&self) -> Result<Step, ErrorData> {
        match self.response("user_context") {
            Some(response) => {
                let context = response["content"]["context"].as_str().unwrap_or_default();
                Ok(Step::Done(format!("In the context of: {context}")))
            }
            None => ask(
                &json!({"user_context": question("context", "string", "In which context?")}),
                None,
            ),
        }
    }
}
