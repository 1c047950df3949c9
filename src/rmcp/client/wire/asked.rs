use ::rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
};
use serde_json::Value;
use std::collections::HashMap;

/// The kind of a request, as far as its answer is read differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tool,
    Resource,
    Prompt,
    ToolList,
    ResourceList,
    TemplateList,
    PromptList,
    Completion,
    /// Requests whose result has no members.
    Empty,
    Other,
}

/// A request of ours that waits for its answer.
#[derive(Clone, Debug)]
pub(in crate::rmcp::client) struct Asked {
    pub(super) id: RequestId,
    pub(super) kind: Kind,
}

impl Asked {
    /// The request in a message, if it is one.
    pub(in crate::rmcp::client) fn of(message: &ClientJsonRpcMessage) -> Option<Self> {
        let JsonRpcMessage::Request(request) = message else {
            return None;
        };
        let kind = match &request.request {
            ClientRequest::CallToolRequest(_) => Kind::Tool,
            ClientRequest::ReadResourceRequest(_) => Kind::Resource,
            ClientRequest::GetPromptRequest(_) => Kind::Prompt,
            ClientRequest::ListToolsRequest(_) => Kind::ToolList,
            ClientRequest::ListResourcesRequest(_) => Kind::ResourceList,
            ClientRequest::ListResourceTemplatesRequest(_) => Kind::TemplateList,
            ClientRequest::ListPromptsRequest(_) => Kind::PromptList,
            ClientRequest::CompleteRequest(_) => Kind::Completion,
            ClientRequest::PingRequest(_)
            | ClientRequest::SetLevelRequest(_)
            | ClientRequest::SubscribeRequest(_)
            | ClientRequest::UnsubscribeRequest(_) => Kind::Empty,
            _ => Kind::Other,
        };
        let id = request.id.clone();
        Some(Self { id, kind })
    }
}

impl Asked {
    /// Whether a null is a result of it.
    pub(super) fn takes_null(&self) -> bool {
        self.kind == Kind::Empty
    }
}

/// Finds the request that an answer belongs to.
pub(in crate::rmcp::client) trait Pending {
    /// Takes the request with that id; without an id, the only possible one.
    fn take(&mut self, id: Option<&Value>) -> Option<Asked>;

    /// Takes the only waiting request. `None` if there are several, or they are unknown.
    fn only(&mut self) -> Option<Asked> {
        None
    }

    /// Whether its answer comes alone, and not among other text such as lines of a log.
    fn is_alone(&self) -> bool {
        false
    }

    /// Whether the text of its answer is passed on as it is, if rmcp reads the same in it.
    fn hands_on(&self) -> bool {
        false
    }
}

/// A request whose answer comes alone.
impl Pending for &Asked {
    fn take(&mut self, id: Option<&Value>) -> Option<Asked> {
        let is_its = id.is_none_or(|id| canonical(id).as_ref() == Some(&self.id));
        is_its.then(|| (*self).clone())
    }

    fn only(&mut self) -> Option<Asked> {
        Some((*self).clone())
    }

    fn is_alone(&self) -> bool {
        true
    }
}

/// A request whose answer may come among other text.
#[cfg(feature = "rmcp-client-http")]
pub(in crate::rmcp::client) struct Among<'a> {
    pub(in crate::rmcp::client) asked: &'a Asked,
    /// Whether only an answer with the id counts.
    pub(in crate::rmcp::client) needs_id: bool,
}

#[cfg(feature = "rmcp-client-http")]
impl Pending for Among<'_> {
    fn hands_on(&self) -> bool {
        true
    }

    fn take(&mut self, id: Option<&Value>) -> Option<Asked> {
        if self.needs_id && id.is_none() {
            return None;
        }
        let mut asked = self.asked;
        asked.take(id)
    }

    fn only(&mut self) -> Option<Asked> {
        (!self.needs_id).then(|| self.asked.clone())
    }
}

/// Any request, if the waiting requests are unknown.
#[cfg(feature = "rmcp-client-http")]
pub(in crate::rmcp::client) struct Anyone;

#[cfg(feature = "rmcp-client-http")]
impl Pending for Anyone {
    fn hands_on(&self) -> bool {
        true
    }

    fn take(&mut self, id: Option<&Value>) -> Option<Asked> {
        let (id, kind) = (canonical(id?)?, Kind::Other);
        Some(Asked { id, kind })
    }
}

/// The waiting requests of a connection.
#[derive(Debug, Default)]
pub(super) struct Running(HashMap<RequestId, Kind>);

impl Running {
    /// Notes the request in a message, or the one that it cancels.
    pub(super) fn note(&mut self, message: &ClientJsonRpcMessage) {
        if let Some(asked) = Asked::of(message) {
            self.0.insert(asked.id, asked.kind);
        }
        if let JsonRpcMessage::Notification(sent) = message
            && let ClientNotification::CancelledNotification(cancelled) = &sent.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.0.remove(id);
        }
    }
}

impl Pending for Running {
    fn take(&mut self, id: Option<&Value>) -> Option<Asked> {
        let (id, kind) = self.0.remove_entry(&canonical(id?)?)?;
        Some(Asked { id, kind })
    }

    fn only(&mut self) -> Option<Asked> {
        if self.0.len() > 1 {
            return None;
        }
        let mut only = self.0.drain();
        only.next().map(|(id, kind)| Asked { id, kind })
    }
}

/// The id as it was sent. rmcp sends numbers; some servers return them as texts or floats.
pub(super) fn canonical(id: &Value) -> Option<RequestId> {
    match (number(id), id) {
        (Some(number), _) => Some(RequestId::Number(number)),
        (None, Value::String(text)) => Some(RequestId::String(text.as_str().into())),
        (None, _) => None,
    }
}

/// The integer that a value is or says, also as a float.
pub(super) fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| integral(number.as_f64()?)),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| integral(text.parse().ok()?))
        }
        _ => None,
    }
}

/// The integer that a float is exactly equal to.
fn integral(float: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is a whole number below 2^53"
    )]
    (float.fract() == 0.0 && float.abs() < EXACT).then_some(float as i64)
}
