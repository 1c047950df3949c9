use crate::{rmcp::wire::raw, text::first};
use ::rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions, JsonRpcMessage, NumberOrString,
    RequestId,
};
use serde_json::Value;
use std::collections::HashMap;

/// The longest stand-in begins like its id, up to here.
const SHOWN: usize = 64;

/// The ids of running requests that rmcp cannot hold: `1.0`, `1.5`, integers of more than 64 bits.
#[derive(Debug, Default)]
pub(super) struct Ids {
    by_stand_in: HashMap<RequestId, Box<str>>,
    count: u64,
}

/// The id of a request as the client wrote it, if rmcp has another.
#[derive(Clone, Debug)]
pub(in crate::rmcp::server) struct CameAs(Box<str>);

impl CameAs {
    /// The id for the log: as a text, if no other value is written in the same way.
    pub(in crate::rmcp::server) fn to_value(&self) -> Value {
        let read: Option<Value> = serde_json::from_str(&self.0).ok();
        let written = read.as_ref().map(Value::to_string);
        match read {
            Some(value) if written.as_deref() == Some(&*self.0) => value,
            _ => Value::from(&*self.0),
        }
    }
}

impl Ids {
    /// The id that rmcp has for a request.
    pub(super) fn came(&mut self, written: &str) -> RequestId {
        let known: Option<RequestId> = serde_json::from_str(written).ok();
        let id = match known {
            Some(NumberOrString::Number(number)) if number.to_string() != written => {
                NumberOrString::Number(number)
            }
            Some(known) => return known,
            None => {
                self.count += 1;
                let stand_in = format!("{}#{}", first(written, SHOWN), self.count);
                NumberOrString::String(stand_in.into())
            }
        };
        self.by_stand_in.insert(id.clone(), written.into());
        id
    }

    /// The client's own id for an answered request, if it differs.
    pub(super) fn left(&mut self, id: &RequestId) -> Option<Box<str>> {
        self.by_stand_in.remove(id)
    }

    /// Takes the ids of a message that rmcp has read.
    pub(super) fn note(&mut self, message: &mut ClientJsonRpcMessage, text: &str) {
        match message {
            JsonRpcMessage::Request(request) => {
                if let NumberOrString::Number(_) = request.id
                    && let Some(written) = raw::members(text).first("id")
                {
                    request.id = self.came(written);
                }
                if let Some(written) = self.by_stand_in.get(&request.id) {
                    let came_as = CameAs(written.clone());
                    request.request.extensions_mut().insert(came_as);
                }
            }
            JsonRpcMessage::Notification(notification) => {
                self.note_cancelled(&mut notification.notification);
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Lets a cancellation find its request. A cancelled request needs no answer.
    fn note_cancelled(&mut self, notification: &mut ClientNotification) {
        match notification {
            ClientNotification::CancelledNotification(cancelled) => {
                if let Some(id) = &cancelled.params.request_id {
                    self.by_stand_in.remove(id);
                }
            }
            // It has an id that rmcp cannot hold.
            ClientNotification::CustomNotification(custom)
                if custom.method == "notifications/cancelled" =>
            {
                let Some(params) = &mut custom.params else {
                    return;
                };
                let named = params.get("requestId").cloned().unwrap_or_default();
                let is_named = |written: &str| {
                    serde_json::from_str::<Value>(written).is_ok_and(|id| id == named)
                };
                let mut ids = self.by_stand_in.iter();
                let Some(id) = ids.find_map(|(id, written)| is_named(written).then(|| id.clone()))
                else {
                    return;
                };
                self.by_stand_in.remove(&id);
                params["requestId"] = id.into_json_value();
                let params = std::mem::take(params);
                if let Ok(params) = serde_json::from_value(params) {
                    let cancelled = ::rmcp::model::CancelledNotification::new(params);
                    *notification = ClientNotification::CancelledNotification(cancelled);
                }
            }
            _ => {}
        }
    }
}
